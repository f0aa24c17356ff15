import { Agent } from 'node:http';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import fc from 'fast-check';
import { isEnumType } from 'graphql';
import { periodOfUrls } from '../../src/graphql/cache/cache-policy.decorator.js';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { CompilerSwitch, Executions } from '../support/builders/executions.js';
import { post } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { often } from '../support/builders/random-arguments.js';
import { randomDirectory } from '../support/builders/random-directory.js';
import { type RandomRequest, randomRequests } from '../support/builders/random-documents.js';
import { repetitions } from '../support/repetitions.js';
import { schema } from '../support/clients/scope-walk.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const REQUESTS = repetitions({ usually: 200, long: 2000 });
const SEED = Number(process.env['TEST_SEED'] ?? 20_261_121);

/** Limits are tested elsewhere. */
const LIMITS = {
  LIMIT_DEPTH: '100',
  LIMIT_ALIASES: '1000',
  LIMIT_DIRECTIVES: '1000',
  LIMIT_ROOT_FIELDS: '1000',
  LIMIT_TOKENS: '100000',
  LIMIT_NODES: '1000000',
  // Statements run sequentially, so that errors have a fixed order.
  DATABASE_POOL_SIZE: '1',
};

/** Fields that every request changes. */
const CHANGING = [
  'RateLimit.remaining',
  'RateLimit.resetAt',
  'RateLimit.requestsRemaining',
  'RateLimit.requestsResetAt',
  'ServiceAccount.lastUsedAt',
];

const CURSORS = `{
  users(first: 3) { edges { cursor } }
  groups(first: 3) { edges { cursor } nodes { members(first: 2) { edges { cursor } } } }
  changes(last: 3) { edges { cursor } }
  search(query: "anna", first: 2) { edges { cursor } }
}`;

const NODE_IDS = `{
  profile { nodeId }
  users(first: 4) { nodes { nodeId } }
  groups(first: 4) { nodes { nodeId } }
}`;

/** The smallest valid picture. */
const PHOTO = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

interface Asked {
  readonly request: RandomRequest;
  readonly principal: string;
  readonly accept: string;
}

describe('a response', () => {
  let remembering: TestService;
  /** Without the response cache. */
  let plain: TwinService;
  let compiler: CompilerSwitch;
  let executions: { plain: Executions; remembering: Executions };
  let cursors: string[];
  let nodeIds: string[];
  const counts = { asked: 0, rememberable: 0, remembered: 0 };
  const principals: Record<string, string | undefined> = {};
  const agent = new Agent({ keepAlive: true });
  const directory = randomDirectory({ people: 30, groups: 8 }, SEED);
  const known = {
    users: directory.people.slice(0, 8).map(({ id }) => id),
    groups: directory.groups.map(({ id }) => id),
  };

  beforeAll(async () => {
    const clients = writeClients([{ id: 'client', owner: 'p1' }]);
    const environment = { ...LIMITS, AUTH_EMBEDDED_CLIENTS: clients };
    remembering = await TestService.start({ compared: false, environment });
    await stopFollowing(remembering);
    const people = directory.people.map((person, index) =>
      index % 4 === 0 ? { ...person, photo: PHOTO, picture: PHOTO } : person,
    );
    // Twice, so that there are changes.
    for (const missing of [2, 0]) {
      remembering.replaceDirectory(buildLdif(people.slice(missing), directory.groups));
      expect((await remembering.synchronize()).kind).toBe('applied');
    }
    plain = await TwinService.start(remembering, { ...environment, RESPONSE_CACHE_MEGABYTES: '0' });
    compiler = new CompilerSwitch(plain.app);
    executions = { plain: new Executions(plain.app), remembering: new Executions(remembering.app) };
    principals['person'] = await remembering.accessToken('profile read directory', 'client');
    principals['person with one scope'] = await remembering.accessToken('profile', 'client');
    principals['service'] = await remembering.serviceAccount('read', 'directory');
    principals['service with one scope'] = await remembering.serviceAccount('directory');
    const { data } = await remembering.query(CURSORS, { authorization: principals['person'] });
    cursors = [...JSON.stringify(data).matchAll(/"cursor":"([^"]+)"/g)].map(([, cursor = '']) => cursor);
    expect(cursors.length).toBeGreaterThan(10);
    const nodes = await remembering.query(NODE_IDS, { authorization: principals['person'] });
    nodeIds = [...JSON.stringify(nodes.data).matchAll(/"nodeId":"([^"]+)"/g)].map(([, id = '']) => id);
    expect(nodeIds).toHaveLength(9);
  });

  afterAll(async () => {
    agent.destroy();
    await plain.stop();
    await remembering.stop();
  });

  /** Everything of a response that a client can observe. Errors contain the request id, which is the same for each request. */
  async function sendRequest(
    service: TestService | TwinService,
    { request, principal, accept }: Asked,
  ): Promise<string> {
    const authorization = principals[principal];
    const own: Record<string, string> = authorization === undefined ? {} : { authorization };
    const { status, headers, body } = await post(
      service,
      request,
      { 'x-request-id': 'the-same', accept, ...own },
      agent,
    );
    return `${status} ${String(headers['content-type'])}\n${body}`;
  }

  /** A response of graphql-js, and one of the compiled operation. */
  async function answersTo(asked: Asked): Promise<[expected: string, compiled: string]> {
    compiler.isOn = false;
    const expected = await sendRequest(plain, asked);
    compiler.isOn = true;
    return [expected, await sendRequest(plain, asked)];
  }

  /** A response, the response to a repetition, and the one after that, which is cached if possible. */
  async function rememberedAnswersTo(asked: Asked, isRememberable: boolean): Promise<string[]> {
    const first = await sendRequest(remembering, asked);
    if (isRememberable) await sendRequest(remembering, asked);
    const { count } = executions.remembering;
    const again = await sendRequest(remembering, asked);
    if (isRememberable) counts.rememberable++;
    if (isRememberable && executions.remembering.count === count) counts.remembered++;
    return [first, again];
  }

  /** Pairs of responses that must be equal. */
  async function pairsFor(asked: Asked): Promise<[answer: string, expected: string][]> {
    const { rememberable } = executions.plain;
    const [expected, compiled] = await answersTo(asked);
    const isRememberable = executions.plain.rememberable > rememberable;
    const pairs: [string, string][] = [[compiled, expected]];
    // Responses that must not be cached are equal, too: a sample is enough.
    if (isRememberable || counts.asked++ % 8 === 0) {
      const remembered = await rememberedAnswersTo(asked, isRememberable);
      pairs.push(...remembered.map((each): [string, string] => [each, expected]));
    }
    const turned = turnConditions(asked);
    if (turned !== null) {
      const [otherExpected, otherCompiled] = await answersTo(turned);
      pairs.push([otherCompiled, otherExpected]);
    }
    return pairs;
  }

  it('has enums whose internal values equal their names, because compiled operations do not map them', () => {
    const enums = Object.values(plain.app.get(GraphQLSchemaHost).schema.getTypeMap()).filter(isEnumType);
    const values = enums.filter(({ name }) => !name.startsWith('__')).flatMap((each) => each.getValues());
    expect(values.length).toBeGreaterThan(20);
    expect(values.map(({ value }) => value as unknown)).toEqual(values.map(({ name }) => name));
  });

  it(`is the same by graphql-js, compiled, and cached (seed ${SEED})`, async () => {
    const asked: fc.Arbitrary<Asked> = fc.record({
      request: randomRequests(schema, { ...known, cursors, nodeIds }, CHANGING),
      principal: often(
        fc.constantFrom('person', 'person', 'service'),
        fc.constantFrom('person with one scope', 'service with one scope', 'nobody'),
        5,
      ),
      accept: fc.constantFrom('application/json', 'application/graphql-response+json'),
    });
    await fc.assert(
      fc.asyncProperty(asked, async (each) => {
        let period: number;
        let pairs: [string, string][];
        do {
          // Signed URLs change with it.
          period = periodOfUrls(new Date());
          pairs = await pairsFor(each);
        } while (period !== periodOfUrls(new Date()));
        for (const [answer, expected] of pairs) {
          expect(answer).toBe(expected);
          expect(answer).not.toContain('INTERNAL_SERVER_ERROR');
        }
      }),
      { numRuns: REQUESTS, seed: SEED },
    );
    // Most responses are compiled, and nearly all cacheable responses come from the cache.
    expect(executions.plain.compiled).toBeGreaterThan(REQUESTS / 2);
    expect(counts.rememberable).toBeGreaterThan(REQUESTS / 10);
    expect(counts.remembered).toBeGreaterThan(counts.rememberable * 0.9);
  });
});

/**
 * The same request with all boolean variables inverted, or null if there are none. A compiled operation must not serve the other
 * request.
 */
function turnConditions(asked: Asked): Asked | null {
  const { request } = asked;
  const entries = Object.entries(request.variables);
  if (!entries.some(([, value]) => typeof value === 'boolean')) return null;
  const variables = Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'boolean' ? !value : value]),
  );
  return { ...asked, request: { ...request, variables } };
}
