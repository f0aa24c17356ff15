import { errors, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import { keysOf } from './issuer.js';
import { verifySignature } from './token-verifier.js';

/** Milliseconds. */
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

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
  let published: Key[];
  let isAway: boolean;
  let fetches: number;
  let now: number;
  let keys: ReturnType<typeof keysOf>;

  beforeAll(async () => {
    [first, second] = await Promise.all([createKey('1'), createKey('2')]);
  });

  afterEach(() => jest.restoreAllMocks());

  beforeEach(() => {
    published = [first];
    isAway = false;
    fetches = 0;
    now = 0;
    keys = keysOf(fetchKeys, () => now);
    jest.spyOn(Date, 'now').mockImplementation(() => now);
  });

  function fetchKeys(): Promise<JSONWebKeySet> {
    fetches += 1;
    return isAway
      ? Promise.reject(new Error('away'))
      : Promise.resolve({ keys: published.map(({ jwk }) => jwk) });
  }

  /** «good», «bad», or the code of another error. */
  async function judge({ token }: Key): Promise<string> {
    try {
      await verifySignature(token, keys);
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

  it('are fetched at most three times a minute; then an unknown key has an unknown result', async () => {
    const judged = [await judge(first)];
    for (let time = 0; time < 4; time++) judged.push(await judge(second));
    expect(judged).toEqual(['good', 'bad', 'bad', 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
    expect(await judge(first)).toBe('good');
    expect(fetches).toBe(3);
    now = MINUTE;
    published = [second];
    expect(await judge(second)).toBe('good');
  });

  it('are fetched three times a minute while the issuer is unavailable, and within a minute of its return', async () => {
    isAway = true;
    for (; now < 10 * MINUTE; now += 500) expect(await judge(first)).toBe('SERVICE_UNAVAILABLE');
    expect(fetches).toBe(30);
    isAway = false;
    now += MINUTE;
    expect(await judge(first)).toBe('good');
  });

  it('are valid for an hour while the issuer is unavailable, and not longer', async () => {
    await judge(first);
    isAway = true;
    now = HOUR - 1;
    expect([await judge(first), fetches]).toEqual(['good', 1]);
    now = HOUR + 1;
    expect(await judge(first)).toBe('SERVICE_UNAVAILABLE');
  });

  it('are fetched again after an hour, so that withdrawn keys become invalid', async () => {
    await judge(first);
    published = [second];
    now = HOUR + 1;
    expect([await judge(first), await judge(second)]).toEqual(['bad', 'good']);
  });
});
