import { readConfig } from '../config/config.js';
import { FailedLogins, Limit, Limits, networkOf } from './limits.js';

describe('a limit of 3 in 10 seconds', () => {
  let now: number;
  let limit: Limit;

  beforeEach(() => {
    now = 1_000_000;
    limit = new Limit('test', 3, 10, () => now);
  });

  it('allows exactly this amount, for each subject', () => {
    const taken = [1, 1, 1, 1].map((amount) => limit.take('anna', amount).isTaken);
    expect(taken).toEqual([true, true, true, false]);
    expect(limit.take('ben', 3).isTaken).toBe(true);
  });

  it('is charged completely or not at all', () => {
    limit.take('anna', 2);
    const refused = limit.take('anna', 2);
    expect(refused).toMatchObject({ isTaken: false, remaining: 1 });
    expect(limit.take('anna', 1).isTaken).toBe(true);
  });

  it('is complete again after the window that the first charge started', () => {
    limit.take('anna', 1);
    now += 9_999;
    const last = limit.take('anna', 2);
    expect(last).toEqual({ isTaken: true, remaining: 0, reset: 1 });
    expect(limit.take('anna', 1).isTaken).toBe(false);
    now += 1;
    const next = limit.take('anna', 1);
    expect(next).toEqual({ isTaken: true, remaining: 2, reset: 10 });
  });

  it('starts no window by being read', () => {
    expect(limit.take('anna', 0)).toEqual({ isTaken: true, remaining: 3, reset: 10 });
    now += 5_000;
    limit.take('anna', 1);
    now += 9_000;
    expect(limit.take('anna', 0).remaining).toBe(2);
  });
});

describe('the unit of counting for an address', () => {
  it.each([
    ['is an IPv4 address itself', '192.0.2.1', '192.0.2.1'],
    ['is the same for an IPv4-mapped IPv6 address', '::ffff:192.0.2.1', '192.0.2.1'],
    ['is the same in hexadecimal', '::ffff:c000:201', '192.0.2.1'],
    ['is the /64 of an IPv6 address', '2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['is the same in every notation', '2001:0DB8::1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['differs for the next network', '2001:db8:0:2::1', '2001:db8:0:2::/64'],
    ['is a link-local network', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['is the loopback address', '::1', '0:0:0:0::/64'],
    ['is other text unchanged', 'un:known', 'un:known'],
    ['is empty for empty text', '', ''],
    ['is one for all clients that have reset their connections', undefined, 'unknown'],
  ])('%s', (_what, address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('failed logins, of which two are allowed,', () => {
  let logins: FailedLogins;
  const LOCKED = expect.objectContaining({ code: 'RATE_LIMITED', details: { retryAfter: 900 } }) as unknown;

  beforeEach(() => {
    logins = new FailedLogins(readConfig({ LIMIT_FAILED_LOGINS: '2' }), new Limits({ redis: null }));
  });

  const fail = (address: string) => logins.count(address).catch((error: unknown) => error);

  it('are counted for an address, with the time of the next attempt', async () => {
    expect([await fail('192.0.2.1'), await fail('192.0.2.1')]).toEqual([undefined, undefined]);
    expect(await fail('192.0.2.1')).toEqual(LOCKED);
    expect(await fail('192.0.2.2')).toBeUndefined();
    expect(logins.rejections).toBe(1);
  });

  it('are counted for all addresses of an IPv6 network together', async () => {
    expect([await fail('2001:db8::1'), await fail('2001:db8::ffff:1')]).toEqual([undefined, undefined]);
    expect(await fail('2001:db8::2')).toEqual(LOCKED);
    expect(await fail('2001:db8:0:1::1')).toBeUndefined();
  });
});
