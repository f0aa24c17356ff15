import { EventEmitter, once } from 'node:events';
import { errors, exportJWK, generateKeyPair, type JSONWebKeySet, jwtVerify, SignJWT } from 'jose';
import { IssuerKeys } from './issuer-keys.js';
import { mayHaveNewKey } from './jwt.js';

const MINUTE = 60;
const HOUR = 3600;

/** A key of the issuer: the published form, and a token signed with it. */
interface Key {
  jwk: JSONWebKeySet['keys'][number];
  token: string;
}

async function createKey(kid: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const token = await new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' }, token };
}

describe('the keys of an issuer', () => {
  let first: Key;
  let second: Key;
  let third: Key;
  let published: Key[];
  let isAway: boolean;
  let fetches: number;
  let now: number;
  let held: Promise<unknown[]> | undefined;
  let keys: IssuerKeys;

  beforeAll(async () => {
    [first, second, third] = await Promise.all([createKey('1'), createKey('2'), createKey('3')]);
  });

  beforeEach(() => {
    published = [first];
    isAway = false;
    fetches = 0;
    now = 0;
    held = undefined;
    keys = new IssuerKeys(fetchKeys, () => now);
  });

  async function fetchKeys(): Promise<JSONWebKeySet> {
    fetches += 1;
    if (isAway) throw new Error('away');
    const jwks = { keys: published.map(({ jwk }) => jwk) };
    await held;
    return jwks;
  }

  /** Delays the issuer's responses, as they were at the request, until the function is called. */
  function hold(): () => void {
    const gate = new EventEmitter();
    held = once(gate, 'open');
    return () => gate.emit('open');
  }

  /** «good», «bad», or the code of another error. */
  async function judge({ token }: Key): Promise<string> {
    try {
      await keys.verify(
        (find) => jwtVerify(token, find),
        (error) => mayHaveNewKey(token, error),
      );
      return 'good';
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return 'bad';
      return (error as { code: string }).code;
    }
  }

  it('are fetched once for all concurrent requests', async () => {
    const [a, b, c] = await Promise.all([judge(first), judge(first), judge(first)]);
    expect([a, b, c, fetches]).toEqual(['good', 'good', 'good', 1]);
  });

  it('are fetched again for a token with an unknown key', async () => {
    await judge(first);
    published = [second, first];
    expect([await judge(second), fetches]).toEqual(['good', 2]);
  });

  it('reject no token that arrives while older keys are being fetched', async () => {
    await judge(first);
    published = [second];
    const answer = hold();
    const early = judge(third);
    await new Promise(setImmediate);
    published = [third, second];
    const later = judge(third);
    await new Promise(setImmediate);
    answer();
    expect(await Promise.all([early, later])).toEqual(['bad', 'good']);
  });

  it('are fetched at most three times a minute; then an unknown key has an unknown result', async () => {
    const judged: string[] = [];
    for (let time = 0; time < 5; time++) judged.push(await judge(second));
    expect(judged).toEqual(['bad', 'bad', 'bad', 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
    expect(await judge(first)).toBe('good');
    expect(fetches).toBe(3);
    now = MINUTE;
    published = [second];
    expect(await judge(second)).toBe('good');
  });

  it('are fetched three times a minute while the issuer is unavailable, and within 40 seconds of its return', async () => {
    isAway = true;
    const begun: number[] = [];
    for (; now < 10 * MINUTE; now += 0.5) {
      const before = fetches;
      expect(await judge(first)).toBe('SERVICE_UNAVAILABLE');
      if (fetches > before) begun.push(now);
    }
    const spans = (count: number) => begun.slice(count).map((at, index) => at - (begun[index] ?? 0));
    expect(begun.slice(0, 2)).toEqual([0, 1]);
    expect(Math.min(...spans(3))).toBeGreaterThanOrEqual(MINUTE);
    expect(Math.max(...spans(1))).toBeLessThanOrEqual(40);
    isAway = false;
    now += 40;
    expect(await judge(first)).toBe('good');
  });

  it('are valid for a day while the issuer is unavailable, and not longer', async () => {
    await judge(first);
    isAway = true;
    now = 24 * HOUR - 1;
    expect(await judge(first)).toBe('good');
    now = 24 * HOUR + 1;
    expect(await judge(first)).toBe('SERVICE_UNAVAILABLE');
  });

  it('are fetched again in the background after ten minutes, so that withdrawn keys become invalid', async () => {
    await judge(first);
    published = [second];
    now = 9 * MINUTE;
    expect([await judge(first), fetches]).toEqual(['good', 1]);
    now = 11 * MINUTE;
    expect([await judge(first), fetches]).toEqual(['good', 2]);
    await new Promise(setImmediate);
    expect(await judge(first)).toBe('bad');
  });

  it('are fetched before a token is verified after hours without tokens, if the issuer is available', async () => {
    await judge(first);
    published = [second];
    now = 8 * HOUR;
    expect([await judge(first), fetches]).toEqual(['bad', 2]);
    isAway = true;
    now = 16 * HOUR;
    expect([await judge(second), fetches]).toEqual(['good', 3]);
  });
});
