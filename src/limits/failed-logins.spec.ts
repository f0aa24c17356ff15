import { readConfig } from '../config/config.js';
import { FailedLogins } from './failed-logins.js';
import { Limits } from './limits.js';

class WrongError extends Error {}

describe('failed logins, of which two are allowed,', () => {
  let logins: FailedLogins;
  const HERE = '192.0.2.1';
  const ELSEWHERE = '192.0.2.2';
  const LOCKED = expect.objectContaining({ code: 'RATE_LIMITED' }) as unknown;

  beforeEach(() => {
    logins = new FailedLogins(readConfig({ LIMIT_FAILED_LOGINS: '2' }), new Limits(null));
  });

  const logIn = (address: string, verify: () => Promise<string> = () => Promise.resolve('in')) =>
    logins.guard(address, verify, (error) => error instanceof WrongError).catch((error: unknown) => error);
  const wrong = () => Promise.reject(new WrongError());

  it('are counted for an address, and a correct secret is accepted', async () => {
    expect(await logIn(HERE, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn(HERE, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn(HERE, wrong)).toEqual(LOCKED);
    expect(await logIn(HERE)).toBe('in');
    expect(await logIn(ELSEWHERE, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn(ELSEWHERE)).toBe('in');
  });

  it('are counted for all addresses of an IPv6 network together', async () => {
    for (const address of ['2001:db8::1', '2001:db8::ffff:1']) {
      expect(await logIn(address, wrong)).toBeInstanceOf(WrongError);
    }
    expect(await logIn('2001:db8::2', wrong)).toEqual(LOCKED);
    expect(await logIn('2001:db8:0:1::1', wrong)).toBeInstanceOf(WrongError);
  });

  it('do not include failures for other reasons than the secret', async () => {
    for (let count = 0; count < 3; count++) {
      await logIn(HERE, () => Promise.reject(new Error('The database is away')));
    }
    expect(await logIn(HERE)).toBe('in');
  });

  it('contain the time of the next attempt', async () => {
    await logIn(HERE, wrong);
    await logIn(HERE, wrong);
    const refused = (await logIn(HERE, wrong)) as { details: { retryAfter: number } };
    expect(refused.details.retryAfter).toBe(900);
  });
});
