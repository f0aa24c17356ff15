import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from '../support/builders/directory.js';
import { type Load, load, type LoadOutcome } from '../support/clients/load.js';
import { percentile } from '../support/percentile.js';
import { processorWait } from '../support/processor-time.mjs';
import { WatchedService } from '../support/watched-service.js';

/** Clients that keep the service busy, with short waiting times. */
const CLIENTS = 12;
/** Seconds of overload. */
const SECONDS = 60;
/** Load as a multiple of the capacity. */
const TIMES = 10;
/** Seconds of one interval of the evaluation. */
const PART = 5;
/** Milliseconds within which 99 of 100 requests are rejected, on a machine without other load. */
const REFUSAL = 50;
/** Minimal share of the usual throughput. */
const GOODPUT = 0.9;
/** Milliseconds until the service is as fast as before. */
const CALM_AGAIN = 10_000;

const people = Array.from({ length: 100 }, (_, at) => ({ id: `p${at}`, name: `Person ${at}` }));
const groups = Array.from({ length: 40 }, (_, at) => ({ id: `g${at}`, members: people.map(({ id }) => id) }));
/** Takes a hundred times as long as a rejection, which has its cost, too: nine are rejected for one that is served. */
const QUERY = `{
  group(group: {id: "g0"}) { members(first: 100) { ...page } }
}
fragment person on User { id name givenName familyName email schoolYear photo }
fragment page on GroupMembershipConnection {
  totalCount nodes { role { value } user { ...person groups(first: 40) { nodes { group { id name email } } } } }
}`;

describe('a load of ten times the capacity', () => {
  let service: WatchedService;
  let capacity: number;
  let outcomes: LoadOutcome[];
  let looks: Look[];
  let afterwards: number;

  beforeAll(async () => {
    service = await WatchedService.start({
      ldif: buildLdif(people, groups),
      // Simultaneous results of the database delay all others; with few connections, they are few.
      environment: { RESPONSE_CACHE_MEGABYTES: '0', DATABASE_POOL_SIZE: '2' },
    });
    const authorization = await service.accessToken('read', 'demo-basic');
    const body = JSON.stringify({ query: QUERY });
    const what: Load = {
      url: `${service.url}/graphql/v1`,
      body,
      headers: { authorization },
      seconds: 5,
      server: service.id,
    };
    putFirst(service.id);
    const measure = async () => {
      const begun = lookAt(service, 200);
      const answers = await load(what, { clients: CLIENTS });
      const perSecond = answers.length / what.seconds;
      return { perSecond, ofOwnTime: perSecond / shareOf([begun, lookAt(service, 200)]) };
    };
    await measure();
    const before = await measure();
    const calm = await quietly(what);

    const watching = await watch(service);
    outcomes = await load({ ...what, seconds: SECONDS }, { rate: TIMES * before.perSecond });
    looks = await watching.end();
    const ended = performance.now();
    while ((await quietly(what)) > 2 * calm && performance.now() - ended < CALM_AGAIN);
    afterwards = performance.now() - ended;
    capacity = Math.min(before.ofOwnTime, (await measure()).ofOwnTime);
  }, 600_000);

  afterAll(() => service.stop());

  it('gets the usual throughput, and rejections within 50 milliseconds', () => {
    const begun = outcomes[0]?.at ?? NaN;
    const parts = Array.from({ length: SECONDS / PART }, (_, part) => {
      const isWithin = ({ at }: { at: number }) => Math.floor((at - begun) / 1000 / PART) === part;
      return { outcomes: outcomes.filter(isWithin), share: shareOf(looks.filter(isWithin)) };
    });
    const together = (some: typeof parts) =>
      describePart(
        some.flatMap((part) => part.outcomes),
        meanOf(some),
        some.length,
      );
    const whole = together(parts);
    console.log({ capacity, ...whole, afterwards });
    const areKept = whole.refusal.most < REFUSAL && whole.answered > GOODPUT * capacity;
    const described = JSON.stringify(parts.map((part) => together([part])));
    if (!areKept) throw new Error(`Of ${capacity} a second: ${described}`);
  });

  it('gets rejections with a time to retry, and loses no request', () => {
    const refused = outcomes.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(outcomes.length / 2);
    const output = refused.map(({ status, code, retryAfter }) => `${status} ${code} ${retryAfter}`);
    expect(new Set(output)).toEqual(new Set(['503 SERVICE_UNAVAILABLE 1']));
  });

  it('leaves health and memory unchanged', () => {
    expect(new Set(looks.map(({ health }) => health))).toEqual(new Set([200]));
    const sizes = looks.map(({ size }) => size);
    // The minimum: other readings include garbage.
    const third = Math.floor(sizes.length / 3);
    expect(Math.min(...sizes.slice(-third)) - Math.min(...sizes.slice(third, 2 * third))).toBeLessThan(30);
  });

  it('has no effect soon after its end', () => {
    expect(afterwards).toBeLessThan(CALM_AGAIN);
  });
});

/**
 * Other suites run in the meantime: the measured process gets a higher priority if permitted, with all its threads, because it
 * waits for those of the garbage collector.
 */
function putFirst(process: number): void {
  try {
    for (const thread of readdirSync(`/proc/${process}/task`))
      setPriority(Number(thread), constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Requires root.
  }
}

/** The state of a process at one moment. */
interface Look {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds for which it has waited for a processor so far. */
  readonly waited: number;
  /** Resident memory in megabytes. */
  readonly size: number;
  /** Status of `/_health`. */
  readonly health: number;
}

function lookAt(service: WatchedService, health: number): Look {
  return { at: Date.now(), waited: processorWait(service.id), size: megabytesOf(service.id), health };
}

/** Share of the time in which the process could run: other processes used the processors for the rest. NaN: not measured. */
function shareOf(looks: readonly Look[]): number {
  const [first, last] = [looks[0], looks[looks.length - 1]];
  if (first === undefined || last === undefined || first === last) return NaN;
  return 1 - (last.waited - first.waited) / (last.at - first.at);
}

interface Described {
  readonly share: number;
  /** Responses per second of the process's own time. */
  readonly answered: number;
  /** 99th percentile and median of rejections in milliseconds, without the time of waiting for a processor. */
  readonly refusal: { readonly most: number; readonly half: number };
}

function describePart(outcomes: readonly LoadOutcome[], share: number, parts: number): Described {
  const refused = outcomes.filter(({ status }) => status !== 200);
  const times = refused.map(({ milliseconds, waited }) => milliseconds - waited);
  const answered = (outcomes.length - refused.length) / (parts * PART) / share;
  return { share, answered, refusal: { most: percentile(times, 0.99), half: percentile(times, 0.5) } };
}

const meanOf = (parts: readonly { share: number }[]) =>
  parts.reduce((sum, { share }) => sum + share, 0) / parts.length;

/** Duration of a request without other load, in milliseconds. */
async function quietly(what: Load): Promise<number> {
  const outcomes = await load({ ...what, seconds: 0.3 }, { clients: 1 });
  return percentile(
    outcomes.map(({ milliseconds }) => milliseconds),
    0.5,
  );
}

/** Reads the state of the process twice a second. */
async function watch(service: WatchedService) {
  const looks: Look[] = [];
  const readState = async () => looks.push(lookAt(service, (await fetch(`${service.url}/_health`)).status));
  await readState();
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      await readState();
      await sleep(500);
    }
  })();
  return {
    async end() {
      over.abort();
      await looking;
      return looks;
    },
  };
}

/** Resident memory: proc(5). */
function megabytesOf(process: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
