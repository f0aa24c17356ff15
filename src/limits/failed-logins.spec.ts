import { readConfig } from '../config/config.js';
import { FailedLogins, type Login } from './failed-logins.js';
import { Limits } from './limits.js';

class WrongError extends Error {}

describe('failed logins, of which two are let be', () => {
  let logins: FailedLogins;
  const anna: Login = { account: 'person:anna', address: '192.0.2.1' };
  const LOCKED = expect.objectContaining({ code: 'RATE_LIMITED' }) as unknown;

  beforeEach(() => {
    logins = new FailedLogins(readConfig({ LIMIT_FAILED_LOGINS: '2' }), new Limits(null));
  });

  const logIn = (login: Login, verify: () => Promise<string> = () => Promise.resolve('in')) =>
    logins.guard(login, verify, (error) => error instanceof WrongError).catch((error: unknown) => error);
  const wrong = () => Promise.reject(new WrongError());

  it('lock the account for every address, and the address for every account', async () => {
    expect(await logIn(anna, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn(anna)).toBe('in');
    expect(await logIn(anna, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn(anna)).toEqual(LOCKED);
    expect(await logIn({ ...anna, address: '192.0.2.2' })).toEqual(LOCKED);
    expect(await logIn({ ...anna, account: 'person:ben' })).toEqual(LOCKED);
    expect(await logIn({ account: 'person:ben', address: '192.0.2.2' })).toBe('in');
  });

  it('are counted for all addresses of an IPv6 network together', async () => {
    for (const address of ['2001:db8::1', '2001:db8::ffff:1']) {
      expect(await logIn({ account: `person:${address}`, address }, wrong)).toBeInstanceOf(WrongError);
    }
    expect(await logIn({ ...anna, address: '2001:db8::2' })).toEqual(LOCKED);
    expect(await logIn({ ...anna, address: '2001:db8:0:1::1' })).toBe('in');
  });

  it('are not looked at any more once they are too many', async () => {
    await logIn(anna, wrong);
    await logIn(anna, wrong);
    const verify = jest.fn(wrong);
    expect(await logIn(anna, verify)).toEqual(LOCKED);
    expect(verify).not.toHaveBeenCalled();
  });

  it('do not tell which of many at once was right', async () => {
    const attempts = [wrong, wrong, wrong, () => Promise.resolve('in')].map((verify) => logIn(anna, verify));
    const [first, second, ...others] = await Promise.all(attempts);
    expect([first, second]).toEqual([expect.any(WrongError), expect.any(WrongError)]);
    expect(others).toEqual([LOCKED, LOCKED]);
  });

  it('are none where it was not the secret that failed', async () => {
    for (let count = 0; count < 3; count++) {
      await logIn(anna, () => Promise.reject(new Error('The database is away')));
    }
    expect(await logIn(anna)).toBe('in');
  });

  it('say when to come back', async () => {
    await logIn(anna, wrong);
    await logIn(anna, wrong);
    const refused = (await logIn(anna)) as { details: { retryAfter: number } };
    expect(refused.details.retryAfter).toBe(900);
  });
});
