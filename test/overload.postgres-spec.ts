import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from './support/directory.js';
import { type Load, load, type Outcome } from './support/load.js';
import { percentile } from './support/percentile.js';
import { WatchedService } from './support/watched-service.js';

/** Clients that keep the service busy all the time, and of whom nobody waits for long. */
const CLIENTS = 12;
/** Seconds for which it is asked for too much. */
const SECONDS = 60;
/** How many times as much it is asked for as it can answer. */
const TIMES = 10;
/** What others do on the machine counts against the service: in one of so many parts of the time all bounds have to be kept. */
const PARTS = 12;

const people = Array.from({ length: 100 }, (_, at) => ({ id: `p${at}`, name: `Person ${at}` }));
const groups = Array.from({ length: 40 }, (_, at) => ({ id: `g${at}`, members: people.map(({ id }) => id) }));
/** Takes some milliseconds, each time. */
const QUERY = `{
  group(group: {id: "g0"}) {
    name members(first: 100) { totalCount nodes { role { value } user { id name photo groups(first: 20) { nodes { group { id name } } } } } }
  }
}`;

describe('ten times as many requests as can be answered', () => {
  let service: WatchedService;
  let knee: number;
  let outcomes: Outcome[];
  let sizes: number[];
  let health: number[];
  let afterwards: number;

  beforeAll(async () => {
    service = await WatchedService.start({
      ldif: buildLdif(people, groups),
      // What comes from the database at once keeps everybody else waiting: with few connections that is little.
      environment: { ANSWER_CACHE_MEGABYTES: '0', DATABASE_POOL_SIZE: '3' },
    });
    const authorization = await service.accessToken('read', 'demo-basic');
    const body = JSON.stringify({ query: QUERY });
    const what: Load = { url: `${service.url}/graphql/v1`, body, headers: { authorization }, seconds: 5 };
    await load(what, { clients: CLIENTS });
    const before = await load(what, { clients: CLIENTS });
    const calm = await quietly(what);

    const looks = await watch(service);
    outcomes = await load({ ...what, seconds: SECONDS }, { rate: (TIMES * before.length) / what.seconds });
    ({ sizes, health } = await looks.end());
    const ended = performance.now();
    while ((await quietly(what)) > 2 * calm && performance.now() - ended < 10_000);
    afterwards = performance.now() - ended;
    // What else happens on the machine slows everything down: what can be answered is measured before and after.
    const after = await load(what, { clients: CLIENTS });
    knee = Math.min(before.length, after.length) / what.seconds;
  }, 200_000);

  afterAll(() => service.stop());

  it('are answered as fast as otherwise, or refused within 50 milliseconds', () => {
    const parts = Array.from({ length: PARTS }, (_, at) => partOf(outcomes, at));
    const kept = parts.filter(({ answered, refusal }) => answered > 0.9 * knee && refusal < 50);
    if (kept.length === 0) throw new Error(`No part keeps to ${knee} a second: ${JSON.stringify(parts)}`);
  });

  it('are refused with when to come again, and none is lost', () => {
    const refused = outcomes.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(outcomes.length / 2);
    const said = refused.map(({ status, code, retryAfter }) => `${status} ${code} ${retryAfter}`);
    expect(new Set(said)).toEqual(new Set(['503 SERVICE_UNAVAILABLE 1']));
  });

  it('leave health and memory as they are', () => {
    expect(new Set(health)).toEqual(new Set([200]));
    // What it is at least: in between there is what has not been collected yet.
    const third = Math.floor(sizes.length / 3);
    expect(Math.min(...sizes.slice(-third)) - Math.min(...sizes.slice(third, 2 * third))).toBeLessThan(30);
  });

  it('are forgotten within ten seconds', () => {
    expect(afterwards).toBeLessThan(10_000);
  });
});

/** How many were answered a second in a part of the time, and the milliseconds after which half were that were refused. */
function partOf(outcomes: readonly Outcome[], part: number) {
  const length = SECONDS / PARTS;
  const own = outcomes.filter(({ at }) => Math.floor(at / 1000 / length) === part);
  const refused = own.filter(({ status }) => status !== 200);
  return {
    answered: (own.length - refused.length) / length,
    refusal: percentile(
      refused.map(({ milliseconds }) => milliseconds),
      0.5,
    ),
  };
}

/** What a request takes that nobody else disturbs, in milliseconds. */
async function quietly(what: Load): Promise<number> {
  const outcomes = await load({ ...what, seconds: 0.3 }, { clients: 1 });
  return percentile(
    outcomes.map(({ milliseconds }) => milliseconds),
    0.5,
  );
}

/** Looks twice a second how the process is. */
async function watch(service: WatchedService) {
  const sizes: number[] = [];
  const health: number[] = [];
  const look = async () => {
    sizes.push(megabytesOf(service.id));
    health.push((await fetch(`${service.url}/_health`)).status);
  };
  await look();
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      await look();
      await sleep(500);
    }
  })();
  return {
    async end() {
      over.abort();
      await looking;
      return { sizes, health };
    },
  };
}

/** What it holds in memory: proc(5). */
function megabytesOf(process: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
