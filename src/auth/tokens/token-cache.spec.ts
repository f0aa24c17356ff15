import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { UnauthenticatedError } from '../authentication.error.js';
import { TokenCache } from './token-cache.js';
import type { VerifiedToken } from './token-verifier.js';

const HERE = '192.0.2.1';
const ELSEWHERE = '192.0.2.2';
/** Milliseconds. */
const MINUTE = 60_000;

describe('the cache of tokens', () => {
  /** Milliseconds of the process, and how far its clock was set. */
  let now: number;
  let leap: number;
  let questions: number;
  let good: Set<string>;
  let gate: EventEmitter | null;
  let tokens: TokenCache;

  beforeEach(() => {
    now = 1;
    leap = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    jest.spyOn(Date, 'now').mockImplementation(() => now + leap);
    questions = 0;
    good = new Set();
    gate = null;
    tokens = new TokenCache();
  });

  afterEach(() => jest.restoreAllMocks());

  async function verify(token: string): Promise<VerifiedToken> {
    questions += 1;
    if (gate !== null) await once(gate, 'open');
    if (!good.has(token)) throw UnauthenticatedError.badToken('it is not active');
    return { principal: { clientId: token }, cacheFor: MINUTE } as VerifiedToken;
  }

  /** «good», or the code of the error. */
  async function judge(token: string, address = HERE): Promise<string> {
    try {
      const { principal } = await tokens.findOrVerify(token, address, () => verify(token));
      expect(principal.clientId).toBe(token);
      return 'good';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  it('has a verified token until its time ends, or until the clock leaps', async () => {
    good.add('known');
    expect([await judge('known'), await judge('known'), questions]).toEqual(['good', 'good', 1]);
    now += MINUTE - 1;
    expect([await judge('known'), questions]).toEqual(['good', 1]);
    leap = MINUTE;
    expect([await judge('known'), questions]).toEqual(['good', 2]);
    leap = -MINUTE;
    expect([await judge('known'), questions]).toEqual(['good', 3]);
    now += MINUTE;
    good.delete('known');
    expect([await judge('known'), questions]).toEqual(['UNAUTHENTICATED', 4]);
    expect(tokens.statistics).toMatchObject({ hits: 2, misses: 4, entries: 0 });
  });

  it('introspects an opaque token once for concurrent requests', async () => {
    const judged = await Promise.all(Array.from({ length: 50 }, () => judge('bad')));
    expect([new Set(judged), questions]).toEqual([new Set(['UNAUTHENTICATED']), 1]);
  });

  it('accepts an opaque token five seconds after its rejection, if it is valid by then', async () => {
    await judge('late');
    good.add('late');
    // The package reads the clock once a millisecond.
    await sleep(5);
    now += 4999;
    expect(await judge('late')).toBe('UNAUTHENTICATED');
    await sleep(5);
    now += 2;
    expect(await judge('late')).toBe('good');
  });

  it('lets a hundred invalid tokens a minute of an address pass, without an effect on other addresses', async () => {
    const judged: string[] = [];
    for (let index = 0; index < 300; index++) judged.push(await judge(`bad-${index}`));
    expect(judged.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(100);
    expect(judged.slice(100).every((code) => code === 'RATE_LIMITED')).toBe(true);
    expect(questions).toBe(100);
    good.add('new').add('another');
    expect([await judge('another'), await judge('new', ELSEWHERE)]).toEqual(['RATE_LIMITED', 'good']);
    now += MINUTE;
    expect(await judge('another')).toBe('good');
  });

  it('counts no token while the issuer cannot be asked', async () => {
    const away = () => Promise.reject(new Error('away'));
    for (let index = 0; index < 150; index++)
      await expect(tokens.findOrVerify(`token-${index}`, HERE, away)).rejects.toThrow('away');
    expect(await judge('bad')).toBe('UNAUTHENTICATED');
  });

  it('holds up no other address, and no token that was valid, while invalid ones are introspected', async () => {
    good.add('known').add('new');
    expect(await judge('known')).toBe('good');
    now += MINUTE;
    gate = new EventEmitter().setMaxListeners(200);
    const flooding = Promise.all(Array.from({ length: 120 }, (_, index) => judge(`slow-${index}`)));
    const [known, fresh] = [judge('known'), judge('new', ELSEWHERE)];
    await nextTurn();
    expect(questions).toBe(1 + 50 + 2);
    const opened = gate;
    gate = null;
    opened.emit('open');
    expect(await Promise.all([known, fresh])).toEqual(['good', 'good']);
    expect((await flooding).filter((code) => code === 'RATE_LIMITED')).toHaveLength(20);
    expect(questions).toBe(1 + 100 + 2);
  });

  it('accepts any number of valid opaque tokens of an address at once, and introspects fifty at a time', async () => {
    const names = Array.from({ length: 170 }, (_, index) => `valid-${index}`);
    for (const name of names) good.add(name);
    gate = new EventEmitter().setMaxListeners(200);
    const judged = Promise.all(names.map((name) => judge(name)));
    for (const asked of [50, 100, 150, 170]) {
      await nextTurn();
      expect(questions).toBe(asked);
      gate.emit('open');
    }
    expect(new Set(await judged)).toEqual(new Set(['good']));
  });

  it('does not ask an issuer that is away about the tokens that wait', async () => {
    const away = async () => {
      questions++;
      await nextTurn();
      throw new Error('away');
    };
    const asked = Array.from({ length: 500 }, (_, index) => tokens.findOrVerify(`${index}`, HERE, away));
    const results = await Promise.allSettled(asked);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(questions).toBe(50);
    good.add('back');
    expect(await judge('back')).toBe('good');
  });
});
