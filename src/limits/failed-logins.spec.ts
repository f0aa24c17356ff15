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

  it('are counted for an address, whatever the account, and refuse no right secret', async () => {
    expect(await logIn(anna, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn({ ...anna, account: 'person:ben' }, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn(anna, wrong)).toEqual(LOCKED);
    expect(await logIn(anna)).toBe('in');
    expect(await logIn({ ...anna, address: '192.0.2.2' }, wrong)).toBeInstanceOf(WrongError);
    expect(await logIn({ ...anna, address: '192.0.2.2' })).toBe('in');
  });

  it('are counted for all addresses of an IPv6 network together', async () => {
    for (const address of ['2001:db8::1', '2001:db8::ffff:1']) {
      expect(await logIn({ ...anna, address }, wrong)).toBeInstanceOf(WrongError);
    }
    expect(await logIn({ ...anna, address: '2001:db8::2' }, wrong)).toEqual(LOCKED);
    expect(await logIn({ ...anna, address: '2001:db8:0:1::1' }, wrong)).toBeInstanceOf(WrongError);
  });

  it('keep out who guesses what can be guessed, from that address only', async () => {
    await logIn(anna, wrong);
    await logIn(anna, wrong);
    await expect(logins.rejectLocked(anna)).rejects.toEqual(LOCKED);
    await expect(logins.rejectLocked({ ...anna, address: '192.0.2.2' })).resolves.toBeUndefined();
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
    const refused = (await logIn(anna, wrong)) as { details: { retryAfter: number } };
    expect(refused.details.retryAfter).toBe(900);
  });
});
