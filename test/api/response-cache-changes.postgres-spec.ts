import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { periodOfUrls } from '../../src/graphql/cache/cache-policy.decorator.js';
import { ChangingDirectory, modelOf, operationOf, Random } from '../support/builders/changing-directory.js';
import { Executions } from '../support/builders/executions.js';
import { modelSetting } from '../support/builders/model-file.js';
import { writeClients } from '../support/clients/clients.js';
import { type HttpAnswer, post } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { repetitions } from '../support/repetitions.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

/** The directory changes more often than this meanwhile. */
const FEWEST_REVISIONS = 10;
/** Compared responses, of two processes with a cache, with rules of visibility and without. */
const REQUESTS = repetitions({ usually: 1200, long: 50_000 });
const SEED = Number(process.env['TEST_SEED'] ?? 20_261_123);
const CLIENTS = 4;
/** Operations that are sent, again and again. */
const OPERATIONS = repetitions({ usually: 30, long: 250 });
const MOST_ATTEMPTS = 50;
/** From one change of the directory to the next, in requests to processes with a cache. */
const MOST_REQUESTS_BETWEEN = 200;

describe.each([
  ['with rules of visibility', true],
  ['without rules', false],
])('during constant changes %s', (_which, hasRules) => {
  const random = new Random(SEED);
  const directory = new ChangingDirectory(random);
  const agent = new Agent({ keepAlive: true, maxSockets: 2 * CLIENTS });
  let service: TestService;
  let twin: TwinService;
  let uncached: TwinService;
  let principals: string[];
  let operations: string[];
  /** Requests to processes with a cache. */
  let sent = 0;

  beforeAll(async () => {
    const environment = {
      ...modelSetting(modelOf(hasRules)),
      AUTH_EMBEDDED_CLIENTS: writeClients(['p0', 'p2'].map((id) => ({ id: `of-${id}`, owner: id }))),
      DIRECTORY_GUARD_PERCENT: '100',
    };
    service = await TestService.start({ ldif: directory.ldif, environment, compared: false });
    await stopFollowing(service);
    twin = await TwinService.start(service, environment);
    uncached = await TwinService.start(service, { ...environment, RESPONSE_CACHE_MEGABYTES: '0' });
    const all = 'read directory confidential';
    principals = [
      await service.accessToken('read directory profile', 'of-p0'),
      await service.accessToken('read directory', 'of-p2'),
      await service.accessToken(`${all} profile`, 'of-p0'),
      await service.serviceAccount('read', 'directory'),
      await service.serviceAccount(...(all.split(' ') as ['read', 'directory'])),
      await service.limitedAccount(['g1', 'g2'], 'read', 'directory'),
    ];
    const { body } = await send(
      uncached,
      '{ users(first: 5) { edges { cursor } } groups(first: 5) { edges { cursor } } }',
      4,
    );
    const cursors = [...body.matchAll(/"cursor":"([^"]+)"/g)].map(([, cursor = '']) => cursor);
    expect(cursors).toHaveLength(10);
    operations = Array.from({ length: OPERATIONS }, () => operationOf(random, cursors));
  });

  afterAll(async () => {
    agent.destroy();
    await uncached.stop();
    await twin.stop();
    await service.stop();
  });

  function send(to: TestService | TwinService, query: string, principal: number): Promise<HttpAnswer> {
    const authorization = principals[principal] ?? '';
    return post(to, { query }, { authorization, 'x-request-id': 'the-same' }, agent);
  }

  /** A response of a process with a cache, and one without, of the same revision and period; null: there were none. */
  async function pairOf(to: TestService | TwinService, query: string, principal: number) {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      sent++;
      const period = periodOfUrls(new Date());
      const cached = await send(to, query, principal);
      const expected = await send(uncached, query, principal);
      const [one, other] = [cached, expected].map(({ headers }) => headers['directory-revision']);
      if (one === other && period === periodOfUrls(new Date())) return { cached, expected };
    }
    return null;
  }

  async function applyContinuously(ending: { isOver: boolean; revisions: number }): Promise<void> {
    while (!ending.isOver) {
      for (let count = 1 + random.below(2); count > 0; count--) directory.change();
      service.replaceDirectory(directory.ldif);
      const { kind } = await service.synchronize();
      if (kind === 'applied') ending.revisions++;
      else expect(kind).toBe('unchanged');
      // By requests and not by time: on a slow machine, the changes would leave nothing to find in the cache.
      await waitForRequests(sent + random.below(MOST_REQUESTS_BETWEEN), ending);
    }
  }

  async function waitForRequests(count: number, ending: { isOver: boolean }): Promise<void> {
    while (!ending.isOver && sent < count) await sleep(1);
  }

  it(`every response with a cache equals that without, in both processes (seed ${SEED})`, async () => {
    const executions = [service, twin].map(({ app }) => new Executions(app));
    const differences: string[] = [];
    const ending = { isOver: false, revisions: 0 };
    let asked = 0;
    let compared = 0;
    const changing = applyContinuously(ending);
    const compare = async () => {
      // A busy machine answers more requests during a revision.
      while (asked++ < REQUESTS / 2 || ending.revisions <= FEWEST_REVISIONS) {
        const index = random.below(OPERATIONS);
        const query = operations[index] ?? '';
        // Each operation has two, so that most responses are cached.
        const principal = (index + random.below(2)) % principals.length;
        const pair = await pairOf(random.of([service, twin]), query, principal);
        if (pair === null) continue;
        compared++;
        const [cached, expected] = [pair.cached, pair.expected].map(
          ({ status, body }) => `${status} ${body}`,
        );
        if (cached !== expected)
          differences.push(`${principal} ${query}\n${String(cached)}\n${String(expected)}`);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, compare));
    ending.isOver = true;
    await changing;
    const executed = executions.reduce((sum, { count }) => sum + count, 0);
    expect(differences.slice(0, 3)).toEqual([]);
    expect(ending.revisions).toBeGreaterThan(FEWEST_REVISIONS);
    expect(compared).toBeGreaterThan(REQUESTS * 0.4);
    // The others came from the cache.
    expect(executed).toBeLessThan(sent * 0.9);
  });
});
