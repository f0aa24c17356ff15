import { Agent } from 'node:http';
import { buildLdif } from '../support/builders/directory.js';
import { HOSTILE_REQUESTS } from '../support/builders/hostile-requests.js';
import { dataOf, post, refusalOf, send } from '../support/clients/http.js';
import { repetitions } from '../support/repetitions.js';
import { type ProcessWork, WatchedService } from '../support/watched-service.js';
import { forSuite } from '../support/for-suite.js';

/** Good requests until the service is warm. */
const WARM = 100;
/** Repetitions for a measurement of cost: garbage collection affects some of them. */
const TIMES = repetitions({ usually: 3, long: 5 });
/** Maximum of processor time of a hostile request, as a multiple of that of a good request. */
const COST = 10;

const GOOD = `{
  group(group: {id: "club"}) {
    members(first: 100) { totalCount nodes { user { id name email groups(first: 5) { nodes { group { name } } } } role { value } } }
  }
}`;

describe(`each of ${HOSTILE_REQUESTS.length} hostile requests`, () => {
  const service = forSuite(() => {
    const people = Array.from({ length: 120 }, (_, at) => ({ id: `p${at}`, email: `p${at}@example.org` }));
    const groups = Array.from({ length: 6 }, (_, at) => ({ id: `g${at}`, members: ['@club', `p${at}`] }));
    return WatchedService.start({
      environment: {
        // Data that costs something to withhold.
        NODE_ENV: 'production',
        ALLOW_EMBEDDED: 'true',
        // The mirror uses the database, too, after it has read the directory.
        DIRECTORY_SYNC_SECONDS: '3600',
      },
      ldif: buildLdif(people, [{ id: 'club', members: people.map(({ id }) => id) }, ...groups]),
    });
  });
  let authorization: string;
  /** One connection each, like real clients. */
  const good = new Agent({ keepAlive: true, maxSockets: 1 });
  const bad = new Agent({ keepAlive: true, maxSockets: 8 });
  let sent = 0;

  beforeAll(async () => {
    authorization = await service.accessToken('profile read write', 'demo-basic');
    for (let count = 0; count < WARM; count++) await sendValid();
  });

  afterAll(() => {
    good.destroy();
    bad.destroy();
  });

  /** An uncached query. */
  async function sendValid(): Promise<void> {
    const answer = await post(service, { query: `#${++sent}\n${GOOD}` }, { authorization }, good);
    expect(dataOf(answer)).toHaveProperty('group.members.totalCount', 120);
  }

  async function sendHostile(index: number): Promise<void> {
    const hostile = HOSTILE_REQUESTS[index];
    if (hostile === undefined) throw new Error('There are not so many');
    const request = hostile.build(++sent);
    const answer = await send(service, {
      ...request,
      headers: { authorization, ...request.headers },
      agent: bad,
    });
    const [status] = refusalOf(answer);
    if (status < 400 || status >= 500)
      throw new Error(`${hostile.name}: ${status} ${answer.body.slice(0, 200)}`);
  }

  /** Processor time of a request on the event loop in milliseconds: the minimum of several repetitions. */
  async function costOf(request: () => Promise<unknown>): Promise<number> {
    let least = Infinity;
    for (let time = 0; time < TIMES; time++) {
      const before = service.mainThreadTime;
      await request();
      least = Math.min(least, service.mainThreadTime - before);
    }
    return least;
  }

  it('is rejected with 4xx, before a resolver is called and a statement is sent', async () => {
    await sendValid();
    await service.collectWork();
    for (const index of HOSTILE_REQUESTS.keys()) await sendHostile(index);
    expect(await service.collectWork()).toMatchObject({
      operations: 0,
      statements: 0,
    } satisfies Partial<ProcessWork>);
    // The request counts against the rate limit.
    await sendValid();
    expect((await service.collectWork()).operations).toBe(1);
  });

  it('costs at most about as much as a good request', async () => {
    const usual = await costOf(sendValid);
    const expensive: string[] = [];
    for (const [index, { name }] of HOSTILE_REQUESTS.entries()) {
      const cost = await costOf(() => sendHostile(index));
      if (cost > COST * usual) expensive.push(`${name}: ${cost / usual} times as much`);
    }
    expect(expensive).toEqual([]);
  });
});
