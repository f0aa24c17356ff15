import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { RedisConfig } from '../../src/config/settings/service.js';
import { Limit, Limits } from '../../src/limits/limits.js';
import { eventually } from '../support/eventually.js';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, type HttpAnswer, post, refusalOf } from '../support/clients/http.js';
import { REDIS_PASSWORD, TestRedis } from '../support/servers/redis.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const CHEAP = '{ rateLimit { remaining } }';
/** Costs three points. */
const EXPENSIVE =
  '{ groups(first: 100) { nodes { parents(first: 1) { nodes { id } } subgroups(first: 1) { nodes { id } } } } }';
const REQUESTS = 20;
const POINTS = 40;
/** Number of simultaneous requests, and of sequential ones after them. */
const AT_ONCE = 5;
const LIMITED = [429, 'RATE_LIMITED'];

let redis: TestRedis;
let first: TestService;
let second: TestService;
const warned = jest.spyOn(Logger.prototype, 'warn');
const logged = jest.spyOn(Logger.prototype, 'log');
const unhandled: unknown[] = [];
const noteUnhandled = (error: unknown) => unhandled.push(error);

/** Redis is not running yet when they start, which must have no lasting effect. */
beforeAll(async () => {
  process.on('unhandledRejection', noteUnhandled);
  redis = await TestRedis.prepare();
  const environment = {
    REDIS_URL: redis.url,
    LIMIT_REQUESTS_PER_MINUTE: String(REQUESTS),
    LIMIT_POINTS_PER_HOUR: String(POINTS),
    LIMIT_FAILED_LOGINS: '10',
    TRUSTED_PROXIES: '127.0.0.1',
  };
  first = await TestService.start({ ldif: buildLdif([{ id: 'anna' }]), environment });
  const { database } = first.config;
  second = await TestService.start({ environment: { ...environment, DATABASE_URL: database.url } });
});

afterAll(async () => {
  await second.stop();
  await first.stop();
  redis.resume();
  await redis.kill();
  process.off('unhandledRejection', noteUnhandled);
});

let lastAddress = 0;
/** An address without previous requests. */
const newAddress = () => ({ 'x-forwarded-for': `192.0.2.${++lastAddress}` });
const wrongSecret = (id: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:guess`).toString('base64')}`,
});
const sendRequest = (service: TestService, headers: Record<string, string>, query = CHEAP) =>
  post(service, { query }, headers);
/** In turn. */
const replica = (index: number) => (index % 2 === 0 ? first : second);

/** Parameters of RateLimit by the name of the limit: what is left, and the seconds. */
function left({ headers }: HttpAnswer, name: string): number {
  const [, remaining] = new RegExp(`"${name}";r=(\\d+)`).exec(String(headers['ratelimit'])) ?? [];
  return Number(remaining ?? NaN);
}

/** Not from the readiness, which reuses its last result for a moment. */
const isShared = ({ app }: TestService) => app.get(Limits).isShared;
const until = async (condition: () => boolean) => first.until(() => Promise.resolve(condition()));
const untilShared = () => until(() => isShared(first) && isShared(second));

describe('a service without its Redis', () => {
  it('starts, logs it once, and counts on its own', async () => {
    const output = warned.mock.calls.filter(([text]) => String(text).startsWith('Redis is unavailable'));
    expect(output).toHaveLength(2); // Once by each of the two.
    const headers = newAddress();
    expect(left(await sendRequest(first, headers), 'requests')).toBe(REQUESTS - 1);
    expect(left(await sendRequest(second, headers), 'requests')).toBe(REQUESTS - 1);
  });

  it('shares limits within two seconds after Redis is available', async () => {
    await redis.start();
    await untilShared();
    const headers = newAddress();
    expect(left(await sendRequest(first, headers), 'requests')).toBe(REQUESTS - 1);
    expect(left(await sendRequest(second, headers), 'requests')).toBe(REQUESTS - 2);
    expect(logged).toHaveBeenCalledWith(
      expect.stringMatching(/^Redis is reachable, and limits are shared again after \d+ s$/),
    );
  });
});

describe('two replicas', () => {
  it('report what the other one has counted', async () => {
    const headers = newAddress();
    for (let index = 0; index < 6; index++) {
      const answer = await sendRequest(replica(index), headers);
      expect(left(answer, 'requests')).toBe(REQUESTS - 1 - index);
      expect(left(answer, 'points')).toBe(POINTS - 1 - index);
      expect(dataOf(answer)).toEqual({ rateLimit: { remaining: POINTS - 1 - index } });
      expect(answer.headers['ratelimit-policy']).toBe(
        `"requests";q=${REQUESTS};w=60, "points";q=${POINTS};w=3600`,
      );
    }
  });

  it('accept exactly the allowed number of simultaneous requests', async () => {
    const headers = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 2 * REQUESTS }, (_, index) => sendRequest(replica(index), headers)),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(REQUESTS);
    for (const answer of refused) {
      expect(refusalOf(answer)).toEqual(LIMITED);
      expect(answer.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
      expect(left(answer, 'requests')).toBe(0);
    }
    const remaining = answers.filter(({ status }) => status === 200).map((each) => left(each, 'requests'));
    expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: REQUESTS }, (_, index) => index));
  });

  it('charge exactly the available points', async () => {
    const authorization = await first.serviceAccount('read');
    const prices = Array.from({ length: REQUESTS - 1 }, (_, index) =>
      sendRequest(replica(index), { authorization }, EXPENSIVE),
    );
    const answers = await Promise.all(prices);
    // Thirteen times three leave one, which is enough for a cheap operation; rejected requests do not refund more.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(13);
    const last = await sendRequest(second, { authorization });
    expect(dataOf(last)).toEqual({ rateLimit: { remaining: 0 } });
  });

  it('store nothing in Redis that identifies a client', async () => {
    const keys = await redis.keys();
    expect(keys.length).toBeGreaterThan(5);
    for (const key of keys) {
      expect(key).toMatch(/^(directory|both):(requests|points|failed-logins:\w+|probe):[\w-]{22}$/);
    }
  });
});

describe('failed logins', () => {
  it('are rejected from the eleventh on by either replica, but not with the right secret', async () => {
    const authorization = await first.serviceAccount('read');
    const id = Buffer.from(authorization.slice(6), 'base64').toString().split(':')[0] ?? '';
    const address = newAddress();
    for (let index = 0; index < 10; index++) {
      const answer = await sendRequest(replica(index), { ...address, ...wrongSecret(id) });
      expect(refusalOf(answer)).toEqual([401, 'UNAUTHENTICATED']);
    }
    for (const service of [first, second]) {
      const refused = await sendRequest(service, { ...address, ...wrongSecret(id) });
      expect(refusalOf(refused)).toEqual(LIMITED);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
      // From the address of the wrong ones, and from others.
      expect((await sendRequest(service, { ...address, authorization })).status).toBe(200);
      expect((await sendRequest(service, { ...newAddress(), authorization })).status).toBe(200);
    }
  });
});

/** Faults of a Redis, and how they end. */
const FAULTS: [what: string, begin: () => unknown, restore: () => unknown][] = [
  ['hangs', () => redis.hang(), () => redis.resume()],
  ['is killed', () => redis.kill(), () => redis.start()],
  [
    'is full',
    () => redis.sendCommand('CONFIG', 'SET', 'maxmemory', '1'),
    () => redis.sendCommand('CONFIG', 'SET', 'maxmemory', '0'),
  ],
  [
    'is read-only',
    () => redis.sendCommand('REPLICAOF', '127.0.0.1', '1'),
    () => redis.sendCommand('REPLICAOF', 'NO', 'ONE'),
  ],
  ['is slow', () => pauseRedis(), () => undefined],
];

/** The response of `sendCommand` itself would wait until the end of the pause. */
async function pauseRedis(): Promise<void> {
  void redis.sendCommand('CLIENT', 'PAUSE', '3000', 'ALL');
  await sleep(100);
}

/** Half of the requests at once, and the number of requests that waited for Redis in vain. */
async function sendTenRequests(
  headers: Record<string, string>,
): Promise<[answers: HttpAnswer[], inVain: number]> {
  const limits = first.app.get<unknown, { takeFrom(): Promise<unknown> }>(Limits);
  const take = jest.spyOn(limits, 'takeFrom');
  try {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => sendRequest(first, headers)));
    for (let index = 0; index < AT_ONCE; index++) answers.push(await sendRequest(first, headers));
    const waits = await Promise.allSettled(take.mock.results.map(({ value }) => value as unknown));
    return [answers, waits.filter(({ status }) => status === 'rejected').length];
  } finally {
    take.mockRestore();
  }
}

describe.each(FAULTS)('a Redis that %s', (_what, begin, restore) => {
  it('delays no request for long, leaves limits to each process, and is used again after the fault', async () => {
    const headers = newAddress();
    expect(left(await sendRequest(first, headers), 'requests')).toBe(REQUESTS - 1);
    const authorization = await first.serviceAccount('read');
    const goodLogin = { ...newAddress(), authorization };

    await begin();
    const [during, inVain] = await sendTenRequests(headers);
    // Together and once: later requests do not wait at all.
    expect(inVain).toBeLessThanOrEqual(AT_ONCE);
    expect(during.map(({ status }) => status)).toEqual(during.map(() => 200));
    // The process counts alone, from zero.
    expect(Math.min(...during.map((each) => left(each, 'requests')))).toBe(REQUESTS - 10);
    expect((await sendRequest(second, goodLogin)).status).toBe(200);

    await restore();
    await untilShared();
    const after = newAddress();
    expect(left(await sendRequest(first, after), 'requests')).toBe(REQUESTS - 1);
    expect(left(await sendRequest(second, after), 'requests')).toBe(REQUESTS - 2);
  });
});

describe('a Redis with TLS', () => {
  it('is used only if its certificate is trusted', async () => {
    const encrypted = await TestRedis.prepare();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'redis-'));
    const { url, certificate } = await encrypted.startEncrypted(directory);
    try {
      const redis = { url, prefix: 'tls', certificates: certificate };
      // On a busy machine the first handshake may be late, and Redis is then unavailable for a moment.
      let attempt = 0;
      await eventually(() => take({ ...redis, prefix: `tls-${++attempt}` }), 3);
      const untrusted = new Limits({ redis: { ...redis, certificates: null } });
      expect(await untrusted.connect()).toMatch(/self-signed certificate/);
      const wrong = new Limits({ redis: { ...redis, url: url.replace(REDIS_PASSWORD, 'guess') } });
      expect(await wrong.connect()).toMatch(/^WRONGPASS/);
    } finally {
      await encrypted.kill();
    }
  });
});

/** Charges 2 of 5, and returns how many remain in Redis. */
async function take(redis: RedisConfig): Promise<number | null> {
  const limits = new Limits({ redis });
  await limits.onModuleInit();
  try {
    const { remaining } = await limits.takeOne(new Limit('requests', 5, 60), 'anna', 2);
    return limits.isShared ? remaining : null;
  } finally {
    limits.onApplicationShutdown();
  }
}

describe('after all tests,', () => {
  it('there is no unhandled rejection, and no secret in the log', () => {
    expect(unhandled).toEqual([]);
    expect(JSON.stringify(warned.mock.calls)).not.toContain(REDIS_PASSWORD);
  });
});
