import fc from 'fast-check';
import { expiryOf, PICTURE_KINDS, PICTURE_SIZES, signUrl, verifyUrl } from './signed-url.js';

const key = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(48, 2);
const now = new Date('2026-03-01T08:30:17.250Z');
const baseUrl = 'https://directory.example/school';

const IDS = [
  'ada',
  'Ada Lovelace',
  'a/b',
  '100%',
  'a?b#c&d=e',
  'Jörg Müßig',
  'zoë@example.org',
  '👩‍🏫',
  "o'hara (x)!*~",
];

function sign(id: string, overrides: Partial<Parameters<typeof signUrl>[0]> = {}): string {
  const url = signUrl({ baseUrl, kind: 'photo', id, size: null, now, key, ...overrides });
  expect(url.startsWith(baseUrl)).toBe(true);
  return url.slice(baseUrl.length);
}

function later(seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

describe('a signed URL', () => {
  it('has the documented form', () => {
    expect(sign('Ada Lovelace')).toMatch(/^\/photo\/v1\/Ada%20Lovelace\?expires=\d+&signature=[0-9a-f]{64}$/);
    expect(sign('ada', { kind: 'picture', size: 64 })).toMatch(
      /^\/picture\/v1\/ada\?expires=\d+&signature=[0-9a-f]{64}&size=64$/,
    );
  });

  it('identifies what was signed, for any id', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.constantFrom(...PICTURE_KINDS),
        fc.constantFrom(null, ...PICTURE_SIZES),
        fc.boolean(),
        (id, kind, size, isForAudience) => {
          expect(verifyUrl(sign(id, { kind, size, isForAudience }), [key], now)).toEqual({
            outcome: 'valid',
            kind,
            id,
            size,
            isForAudience,
            expires: expiryOf(now),
          });
        },
      ),
    );
  });

  it('is rejected after the change of any single bit', () => {
    for (const id of IDS) {
      for (const size of [null, 64, 512] as const) {
        const signed = Buffer.from(sign(id, { size }), 'latin1');
        for (let bit = 0; bit < signed.length * 8; bit += 1) {
          // Another case of a hexadecimal digit of a percent-encoding is the same URL.
          const changed = Buffer.from(signed);
          changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
          const target = changed.toString('latin1');
          if (/%[0-9a-f]{2}/.test(target)) continue;
          // A plain comparison, because a Jest expectation for each of a hundred thousand bits takes a
          // minute.
          if (verifyUrl(target, [key], now).outcome === 'valid') throw new Error(`Accepted: ${target}`);
        }
      }
    }
  });

  it('is accepted under any of the keys, and under no other', () => {
    const target = sign('ada', { key: otherKey });
    expect(verifyUrl(target, [key, otherKey], now).outcome).toBe('valid');
    expect(verifyUrl(target, [key], now).outcome).toBe('invalid');
    expect(verifyUrl(target, [], now).outcome).toBe('invalid');
  });
});

describe('the expiry of a signed URL', () => {
  it('is after an hour, rounded up to the quarter of an hour', () => {
    const quarter = Date.parse('2026-03-01T09:45:00Z') / 1000;
    expect(expiryOf(now)).toBe(quarter);
    expect(expiryOf(new Date('2026-03-01T08:30:00.001Z'))).toBe(quarter);
    expect(expiryOf(new Date('2026-03-01T08:45:00.000Z'))).toBe(quarter);
    expect(expiryOf(new Date('2026-03-01T08:45:00.001Z'))).toBe(quarter + 900);
  });

  it('is not disclosed without a valid signature', () => {
    const target = sign('ada', { key: otherKey });
    expect(verifyUrl(target, [key], later(7200)).outcome).toBe('invalid');
  });
});

describe('the form of a signed URL', () => {
  const expires = String(expiryOf(now));
  const target = sign('ada');

  it.each([
    `-${expires}`,
    `+${expires}`,
    `0${expires}`,
    `${expires}.0`,
    `${expires}%20`,
    ` ${expires}`,
    `${expires}e0`,
    '1e12',
    `0x${expiryOf(now).toString(16)}`,
    '9223372036854775808',
    'NaN',
    'Infinity',
    '0',
    '',
  ])('allows no other spelling of expires: %p', (odd) => {
    expect(verifyUrl(target.replace(expires, odd), [key], now).outcome).toBe('invalid');
  });

  it.each(['064', '64.0', '0x40', '65', '', '-64', '64,64'])('allows no other size: %p', (odd) => {
    const sized = sign('ada', { size: 64 });
    expect(verifyUrl(sized.replace('size=64', `size=${odd}`), [key], now).outcome).toBe('invalid');
  });

  it('allows each parameter once, in one spelling', () => {
    const signature = /signature=[0-9a-f]+/.exec(target)?.[0] ?? '';
    for (const more of [
      `expires=${expires}`,
      signature,
      'size=64&size=64',
      'Expires=1',
      'SIZE=64',
      '%73ize=64',
      'size',
    ]) {
      expect(verifyUrl(`${target}&${more}`, [key], now).outcome).toBe('invalid');
      expect(verifyUrl(target.replace('?', `?${more}&`), [key], now).outcome).toBe('invalid');
    }
  });

  it('ignores parameters with other names, and their values sign nothing', () => {
    for (const other of ['utm_source=mail', 'v=1', 'sizes=64', '__proto__=1', '', '%', '=1']) {
      const outcome = { outcome: 'valid', id: 'ada', size: null };
      expect(verifyUrl(`${target}&${other}`, [key], now)).toMatchObject(outcome);
      expect(verifyUrl(target.replace('?', `?${other}&`), [key], now)).toMatchObject(outcome);
    }
  });

  it('allows only lower-case signatures of the full length', () => {
    const upper = target.replace(/signature=.*/, (text) => `signature=${text.slice(10).toUpperCase()}`);
    for (const odd of [upper, target.slice(0, -1), `${target}0`, `${target}\n`, `${target}#`]) {
      expect(verifyUrl(odd, [key], now).outcome).toBe('invalid');
    }
  });

  it.each<[id: string, from: string, to: string]>([
    ['ada.martin', '.', '%2E'],
    ['ada.martin', '.', '%2e'],
    ['Ada', 'A', '%41'],
    ['a-b_c~d', '-b_c~', '%2Db%5Fc%7E'],
    ["o'hara (x)!*", "'hara%20(x)!*", '%27hara%20%28x%29%21%2A'],
    ['a/b', '%2F', '%2f'],
    ['ada', 'photo', '%70hoto'],
    ['ada', 'v1', 'v%31'],
    ['ada', 'expires=', 'expire%73='],
    ['ada', 'expires=1', 'expires=%31'],
    ['ada', 'size=64', '%73ize=6%34'],
  ])('is the same if characters are percent-encoded without need: %s with %s as %s', (id, from, to) => {
    const url = sign(id, { size: 64 });
    expect(url).toContain(from);
    expect(verifyUrl(url.replace(from, to), [key], now)).toEqual(verifyUrl(url, [key], now));
    expect(verifyUrl(url, [key], now)).toMatchObject({ outcome: 'valid', id });
  });
});
