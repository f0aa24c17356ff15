import { EventEmitter, once } from 'node:events';
import { UnauthenticatedError } from '../authentication.error.js';
import { RejectedTokens } from './rejected-tokens.js';

const HERE = '192.0.2.1';
const ELSEWHERE = '192.0.2.2';
/** Milliseconds. */
const MINUTE = 60_000;

describe('invalid opaque tokens', () => {
  let now: number;
  let questions: number;
  let good: Set<string>;
  let gate: EventEmitter | null;
  let tokens: RejectedTokens;

  beforeEach(() => {
    now = 0;
    questions = 0;
    good = new Set();
    gate = null;
    tokens = new RejectedTokens(() => now);
  });

  async function ask(token: string): Promise<string> {
    questions += 1;
    if (gate !== null) await once(gate, 'open');
    if (!good.has(token)) throw UnauthenticatedError.badToken('it is not active');
    return token;
  }

  /** «good», or the code of the error. */
  async function judge(token: string, address = HERE): Promise<string> {
    try {
      expect(await tokens.introspect(token, address, () => ask(token))).toBe(token);
      return 'good';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  async function flood(count: number, address: (index: number) => string): Promise<string[]> {
    const judged: string[] = [];
    for (let index = 0; index < count; index++) judged.push(await judge(`bad-${index}`, address(index)));
    return judged;
  }

  it('are introspected once while they are sent repeatedly', async () => {
    const judged = await Promise.all(Array.from({ length: 50 }, () => judge('bad')));
    expect(new Set([...judged, await judge('bad')])).toEqual(new Set(['UNAUTHENTICATED']));
    expect(questions).toBe(1);
  });

  it('are accepted five seconds after a rejection, if they are valid by then', async () => {
    await judge('late');
    good.add('late');
    now = 4999;
    expect(await judge('late')).toBe('UNAUTHENTICATED');
    now = 5000;
    expect(await judge('late')).toBe('good');
  });

  it('from one address are introspected at most a hundred times a minute, without an effect on other addresses', async () => {
    const judged = await flood(300, () => HERE);
    expect(judged.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(100);
    expect(judged.slice(100).every((code) => code === 'RATE_LIMITED')).toBe(true);
    expect(questions).toBe(100);
    good.add('new');
    expect([await judge('new'), await judge('new', ELSEWHERE)]).toEqual(['RATE_LIMITED', 'good']);
    now = MINUTE;
    expect(await judge('new')).toBe('good');
  });

  it('are not counted while the issuer cannot be asked', async () => {
    const away = () => Promise.reject(new Error('away'));
    for (let index = 0; index < 150; index++)
      await expect(tokens.introspect(`token-${index}`, HERE, away)).rejects.toThrow('away');
    expect(await judge('bad')).toBe('UNAUTHENTICATED');
  });

  it('that are being introspected hold up no other address, and no token that was valid', async () => {
    good.add('known').add('new');
    expect(await judge('known')).toBe('good');
    gate = new EventEmitter().setMaxListeners(200);
    const flooding = Promise.all(Array.from({ length: 120 }, (_, index) => judge(`slow-${index}`)));
    const [known, fresh] = [judge('known'), judge('new', ELSEWHERE)];
    expect(questions).toBe(1 + 100 + 2);
    gate.emit('open');
    expect(await Promise.all([known, fresh])).toEqual(['good', 'good']);
    expect((await flooding).filter((code) => code === 'RATE_LIMITED')).toHaveLength(20);
  });
});
