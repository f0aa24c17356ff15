import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from '../support/builders/directory.js';
import { HOSTILE_REQUESTS } from '../support/builders/hostile-requests.js';
import { dataOf, post, refusalOf, send } from '../support/clients/http.js';
import { percentile } from '../support/percentile.js';
import { processorTime } from '../support/processor-time.mjs';
import { type Doings, WatchedService } from '../support/watched-service.js';

/** Milliseconds between hostile requests: eight clients may send as many at most by the limit of 300 a minute. */
const PAUSE = 25;
/** The same as a multiple of what a good request takes: a machine that is slower is sent fewer. */
const SHARE = 3;
/** Those of one window, which is followed by one without any. */
const WINDOW = 32;
/** Milliseconds that a good client thinks about an answer. */
const THOUGHT = 5;
/** Good requests after which the service is as quick as it gets. */
const WARM = 100;
/** Times that a request is sent to find out what it costs: garbage collection falls into some of them. */
const TIMES = 5;
/** Processor time of a hostile request at most, as a multiple of what a good request takes. */
const COST = 10;
/** The latency of good requests meanwhile at most, as a multiple of what it is otherwise: the medians of both. */
const SLOWDOWN = 3;
/** Of requests that nobody means well with. */
const SHAPES = 60;

const GOOD = `{
  group(group: {id: "club"}) {
    members(first: 100) { totalCount nodes { user { id name email groups(first: 5) { nodes { group { name } } } } role { value } } }
  }
}`;

describe(`each of ${HOSTILE_REQUESTS.length} hostile requests`, () => {
  let service: WatchedService;
  let authorization: string;
  /** As clients have them: one connection each. */
  const good = new Agent({ keepAlive: true, maxSockets: 1 });
  const bad = new Agent({ keepAlive: true, maxSockets: 8 });
  let sent = 0;
  /** Milliseconds between hostile requests here. */
  let pause = PAUSE;

  beforeAll(async () => {
    const people = Array.from({ length: 120 }, (_, at) => ({ id: `p${at}`, email: `p${at}@example.org` }));
    const groups = Array.from({ length: 6 }, (_, at) => ({ id: `g${at}`, members: ['@club', `p${at}`] }));
    service = await WatchedService.start({
      environment: {
        // What is not to be told there costs something.
        NODE_ENV: 'production',
        ALLOW_EMBEDDED: 'true',
        // The mirror asks the database, too, whenever it has looked at the directory.
        DIRECTORY_SYNC_SECONDS: '3600',
      },
      ldif: buildLdif(people, [{ id: 'club', members: people.map(({ id }) => id) }, ...groups]),
    });
    authorization = await service.accessToken('profile read write', 'demo-basic');
    for (let count = 0; count < WARM; count++) await askWell();
  });

  afterAll(async () => {
    good.destroy();
    bad.destroy();
    await service.stop();
  });

  /** Asks something that nobody has asked before, so that it has to be worked out. */
  async function askWell(): Promise<number> {
    const begun = performance.now();
    const answer = await post(service, { query: `#${++sent}\n${GOOD}` }, { authorization }, good);
    const milliseconds = performance.now() - begun;
    expect(dataOf(answer)).toHaveProperty('group.members.totalCount', 120);
    return milliseconds;
  }

  async function askBadly(index: number): Promise<void> {
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

  /** Milliseconds of processor time that the event loop of the service takes for a request: the least of several times. */
  async function costOf(request: () => Promise<unknown>): Promise<number> {
    let least = Infinity;
    for (let time = 0; time < TIMES; time++) {
      const before = processorTime(service.id);
      await request();
      least = Math.min(least, processorTime(service.id) - before);
    }
    return least;
  }

  /** Good requests until something is over, with what each took. */
  async function askWellUntil(over: Promise<unknown>): Promise<number[]> {
    const times: number[] = [];
    const end = { isThere: false };
    const noteEnd = over.finally(() => (end.isThere = true));
    while (!end.isThere) {
      times.push(await askWell());
      await sleep(THOUGHT);
    }
    await noteEnd;
    return times;
  }

  /** Some hostile requests at their rate. */
  async function askBadlyAll(indices: readonly number[]): Promise<void> {
    const answers: Promise<void>[] = [];
    for (const index of indices) {
      answers.push(askBadly(index));
      await sleep(pause);
    }
    await Promise.all(answers);
  }

  it('is refused with 4xx, before any resolver is called and any statement is sent', async () => {
    expect(HOSTILE_REQUESTS.length).toBeGreaterThanOrEqual(SHAPES);
    await askWell();
    await service.look();
    for (const index of HOSTILE_REQUESTS.keys()) await askBadly(index);
    expect(await service.look()).toMatchObject({ operations: 0, statements: 0 } satisfies Partial<Doings>);
    // It does count.
    await askWell();
    expect((await service.look()).operations).toBe(1);
  });

  it('costs about as much as a good request at most', async () => {
    const usual = await costOf(askWell);
    const dear: string[] = [];
    for (const [index, { name }] of HOSTILE_REQUESTS.entries()) {
      const cost = await costOf(() => askBadly(index));
      if (cost > COST * usual) dear.push(`${name}: ${cost / usual} times as much`);
    }
    expect(dear).toEqual([]);
  });

  /** Windows with and without hostile requests take turns, so that both meet with what else the machine does. */
  it('hardly delays good clients', async () => {
    const idle: number[] = [];
    const meanwhile: number[] = [];
    const all = [...HOSTILE_REQUESTS.keys(), ...HOSTILE_REQUESTS.keys()];
    for (let start = 0; start < all.length; start += WINDOW) {
      idle.push(...(await askWellUntil(sleep(WINDOW * pause))));
      pause = Math.max(PAUSE, SHARE * percentile(idle, 0.5));
      meanwhile.push(...(await askWellUntil(askBadlyAll(all.slice(start, start + WINDOW)))));
    }
    const slowdown = percentile(meanwhile, 0.5) / percentile(idle, 0.5);
    expect(slowdown).toBeLessThan(SLOWDOWN);
  });
});
