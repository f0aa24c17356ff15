import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from './support/directory.js';
import { HOSTILE_REQUESTS } from './support/hostile-requests.js';
import { dataOf, post, refusalOf, send } from './support/http.js';
import { startClock } from './support/own-time.js';
import { percentile } from './support/percentile.js';
import { type Doings, WatchedService } from './support/watched-service.js';

/** Hostile requests a second: what eight clients may send at most by the limit of 300 a minute. */
const RATE = 40;
/** Those of one window, which is followed by one without any. */
const WINDOW = 32;
/** Milliseconds that a good client thinks about an answer. */
const THOUGHT = 5;
/** Good requests after which the service is as quick as it gets. */
const WARM = 100;
/**
 * What the database waits for counts against the service, and so do the threads that collect its garbage: in one of so many
 * rounds each bound has to be kept.
 */
const ROUNDS = 3;
/** Of requests that nobody means well with. */
const SHAPES = 60;

const GOOD = `{
  group(group: {id: "club"}) {
    members(first: 100) { totalCount nodes { user { id name email groups(first: 5) { nodes { group { name } } } } role { value } } }
  }
}`;

interface Round {
  /** What 99 of 100 refusals took at most, in milliseconds. */
  readonly refusal: number;
  /** How long the event loop was held at most, in milliseconds. */
  readonly longestHold: number;
  /** What 99 of 100 good requests took at most meanwhile, as a multiple of what they take otherwise. */
  readonly slowdown: number;
}

const BOUNDS: Round = { refusal: 150, longestHold: 200, slowdown: 3 };

describe(`each of ${HOSTILE_REQUESTS.length} hostile requests`, () => {
  let service: WatchedService;
  let authorization: string;
  /** As clients have them: one connection each. */
  const good = new Agent({ keepAlive: true, maxSockets: 1 });
  const bad = new Agent({ keepAlive: true, maxSockets: 8 });
  let sent = 0;

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
    const elapsed = startClock(service.id);
    const answer = await post(service, { query: `#${++sent}\n${GOOD}` }, { authorization }, good);
    const milliseconds = elapsed();
    expect(dataOf(answer)).toHaveProperty('group.members.totalCount', 120);
    return milliseconds;
  }

  async function askBadly(index: number): Promise<number> {
    const hostile = HOSTILE_REQUESTS[index];
    if (hostile === undefined) throw new Error('There are not so many');
    const request = hostile.build(++sent);
    const elapsed = startClock(service.id);
    const answer = await send(service, {
      ...request,
      headers: { authorization, ...request.headers },
      agent: bad,
    });
    const milliseconds = elapsed();
    const [status] = refusalOf(answer);
    if (status < 400 || status >= 500)
      throw new Error(`${hostile.name}: ${status} ${answer.body.slice(0, 200)}`);
    return milliseconds;
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

  /** Some hostile requests at their rate, with what each took. */
  async function askBadlyAll(indices: readonly number[]): Promise<number[]> {
    const times: Promise<number>[] = [];
    for (const index of indices) {
      times.push(askBadly(index));
      await sleep(1000 / RATE);
    }
    return Promise.all(times);
  }

  /** Windows with and without hostile requests take turns, so that both meet with what else the machine does. */
  async function measure(): Promise<Round> {
    const idle: number[] = [];
    const meanwhile: number[] = [];
    const refusals: number[] = [];
    let longestHold = 0;
    const all = [...HOSTILE_REQUESTS.keys(), ...HOSTILE_REQUESTS.keys()];
    for (let start = 0; start < all.length; start += WINDOW) {
      idle.push(...(await askWellUntil(sleep((1000 * WINDOW) / RATE))));
      await service.look();
      const refused = askBadlyAll(all.slice(start, start + WINDOW));
      meanwhile.push(...(await askWellUntil(refused)));
      refusals.push(...(await refused));
      longestHold = Math.max(longestHold, (await service.look()).longestHold);
    }
    const p99 = (values: number[]) => percentile(values, 0.99);
    return { refusal: p99(refusals), longestHold, slowdown: p99(meanwhile) / p99(idle) };
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

  it('is refused at once, holds nobody up, and good clients hardly notice', async () => {
    const rounds: Round[] = [];
    const best = (figure: keyof Round) => Math.min(...rounds.map((round) => round[figure]));
    const exceeded = () =>
      (['refusal', 'longestHold', 'slowdown'] as const).filter((each) => best(each) >= BOUNDS[each]);
    while (rounds.length < ROUNDS && exceeded().length > 0) rounds.push(await measure());
    expect({ rounds, exceeded: exceeded() }).toEqual({ rounds, exceeded: [] });
  });
});
