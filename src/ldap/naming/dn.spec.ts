import fc from 'fast-check';
import {
  dnOfNameAndUid,
  escapeDnValue,
  foldPiece,
  InvalidDnError,
  isBelow,
  normalizeDn,
  parseDn,
} from './dn.js';

const text = fc.string({ unit: 'binary', maxLength: 30 });
const awkwardText = fc.string({
  unit: fc.constantFrom(...Array.from(' ,+"\\#;<>=\0aBéİςſﬁ\u00a0')),
  maxLength: 12,
});
const type = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,8}$/);
const pair = fc
  .tuple(type, fc.oneof(text, awkwardText))
  .map(([name, value]) => `${name}=${escapeDnValue(value)}`);
const rdn = fc.array(pair, { minLength: 1, maxLength: 3 }).map((pairs) => pairs.join('+'));
const dn = fc.array(rdn, { maxLength: 4 }).map((rdns) => rdns.join(','));

describe('parseDn', () => {
  it('returns the attributes of every relative DN, from the entry up', () => {
    expect(parseDn('CN=Ann Ba+uid=ann,ou=people,dc=example')).toEqual([
      [
        { type: 'CN', value: 'Ann Ba' },
        { type: 'uid', value: 'ann' },
      ],
      [{ type: 'ou', value: 'people' }],
      [{ type: 'dc', value: 'example' }],
    ]);
  });

  // RFC 4514 §4, and escapes that tools write.
  it.each([
    ['CN=James \\"Jim\\" Smith\\, III', 'James "Jim" Smith, III'],
    ['CN=Before\\0dAfter', 'Before\rAfter'],
    ['SN=Lu\\C4\\8Di\\C4\\87', 'Lučić'],
    ['cn=a\\2Cb', 'a,b'],
    ['cn=', ''],
    ['cn=\\ a\\ ', ' a '],
    ['cn =  a  ', 'a'],
  ])('reads the value of %s', (written, value) => {
    expect(parseDn(written)[0]?.[0]?.value).toBe(value);
  });

  it('returns the BER encoding of a hexadecimal value', () => {
    expect(parseDn('1.3.6.1.4.1.1466.0=#04024869 ,dc=com')[0]).toEqual([
      { type: '1.3.6.1.4.1.1466.0', value: Buffer.from([4, 2, 0x48, 0x69]) },
    ]);
  });

  it('takes empty text for the root', () => {
    expect(parseDn('')).toEqual([]);
    expect(parseDn('  ')).toEqual([]);
  });

  it.each([
    ['a type without a value', 'cn'],
    ['a value without a type', '=a'],
    ['a trailing comma', 'cn=a,'],
    ['an unescaped quote', 'cn="a"'],
    ['a semicolon as separator', 'cn=a;dc=b'],
    ['a NUL', 'cn=a\0'],
    ['an escape at the end', 'cn=a\\'],
    ['an unknown escape', 'cn=a\\g'],
    ['escaped bytes that are not UTF-8', 'cn=a\\C4'],
    ['text after hexadecimal digits', 'cn=#0402 a'],
    ['half a surrogate pair', 'cn=\ud800'],
    ['an unterminated text', `cn=${'a'.repeat(70_000)}`],
  ])('rejects %s, without repeating the contents', (_, written) => {
    expect(() => parseDn(written)).toThrow(InvalidDnError);
    expect(() => normalizeDn(written)).toThrow(/^invalid DN: [a-z]+/);
  });

  it('reads every value that escapeDnValue has written', () => {
    fc.assert(
      fc.property(fc.oneof(text, awkwardText), (value) => {
        expect(parseDn(`cn=${escapeDnValue(value)},dc=a`)[0]).toEqual([{ type: 'cn', value }]);
      }),
    );
  });

  it('throws InvalidDnError only', () => {
    fc.assert(
      fc.property(fc.oneof(text, awkwardText), (written) => {
        try {
          parseDn(`cn=a,${written}`);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidDnError);
        }
      }),
    );
  });
});

describe('normalizeDn', () => {
  it.each([
    ['case', 'UID=Ann,OU=People', 'uid=ann,ou=people'],
    ['runs of spaces in a value', 'cn=Ann   Marie  Ba', 'cn=ann marie ba'],
    ['escaped spaces at the ends', 'cn=\\  Ann \\ ,dc=a', 'cn=ann,dc=a'],
    ['the kind of escape', 'cn=a\\2C b\\2b,dc=a', 'cn=a\\, b\\+,dc=a'],
    ['the order within a relative DN', 'uid=ann+CN=Ba,dc=a', 'cn=ba+uid=ann,dc=a'],
    ['composed and decomposed letters', 'cn=e\u0301', 'cn=é'],
    ['the place of a sigma', 'cn=ΓΙΩΡΓΟΣ', 'cn=γιωργοσ'],
    ['the dot of a capital i', 'cn=İX', 'cn=ix'],
    ['compatibility forms', 'cn=\uff21\ufb01', 'cn=afi'],
    ['the case of hexadecimal digits', '1.2=#04AB', '1.2=#04ab'],
  ])('ignores %s', (_, written, key) => {
    expect(normalizeDn(written)).toBe(key);
  });

  it('distinguishes what a directory distinguishes', () => {
    const written = [
      'cn=a\\,b',
      'cn=a,b=',
      'cn=a+b=',
      'cn=ß',
      'cn=ΣΑΣ',
      'cn=σας',
      'cn=ss',
      'cn=#6161',
      'cn=\\#6161',
      'cn=a b',
      'cn=ab',
    ];
    expect(new Set(written.map(normalizeDn)).size).toBe(written.length);
  });

  // The table is that of Unicode, in which U+0130 has i as its simple mapping. No later code point has a case or a decomposition.
  it('folds every code point by itself, to one code point before decomposition', () => {
    const lower = (character: string) => (character === 'İ' ? 'i' : character.toLowerCase());
    const differing: string[] = [];
    for (let code = 0x80; code <= 0x2ffff; code++) {
      const character = String.fromCodePoint(code);
      if (!character.isWellFormed() || /\p{M}/u.test(character)) continue;
      const folded = foldPiece(character);
      const isSimple = [...lower(character)].length === 1 && foldPiece(lower(character)) === folded;
      const isAlone = ['b', '-'].every(
        (beside) => foldPiece(`${beside}${character}`) === `${beside}${folded}`,
      );
      if (!isSimple || !isAlone) differing.push(code.toString(16));
    }
    // The capital of a sigma that Unicode decomposes to the final form. Servers with Unicode 3.2 do not convert it.
    expect(differing).toEqual(['3f9']);
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(dn, (written) => {
        const key = normalizeDn(written);
        expect(normalizeDn(key)).toBe(key);
      }),
      { numRuns: 500 },
    );
  });

  it('returns the same key for an ordinary DN and for one with needless escapes', () => {
    const ordinary = fc.stringMatching(/^[A-Za-z0-9 '.=#@_-]{0,12}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(type, ordinary), { minLength: 1, maxLength: 4 }), (pairs) => {
        const written = pairs.map(([name, value]) => `${name}=${escapeDnValue(value)}`).join(',');
        const escaped = pairs
          .map(([name, value]) => `${name}=${Buffer.from(value).toString('hex').replace(/../g, '\\$&')}`)
          .join(',');
        expect(normalizeDn(written)).toBe(normalizeDn(escaped));
      }),
      { numRuns: 500 },
    );
  });
});

describe('isBelow', () => {
  it.each([
    ['the base itself', 'OU=People,dc=a', 'ou=people,dc=a', true],
    ['an entry right below', 'uid=ann,ou=people, dc=a', 'ou=people,dc=a', true],
    ['an entry far below', 'uid=ann,ou=x,ou=people,dc=a', 'OU=people,DC=a', true],
    ['anything, below the root', 'uid=ann', '', true],
    ['the entry above', 'dc=a', 'ou=people,dc=a', false],
    ['an entry whose value has the same end', 'uid=ann,xou=people,dc=a', 'ou=people,dc=a', false],
    ['an entry whose escaped comma looks like a separator', 'cn=b\\,dc=a', 'dc=a', false],
    ['an entry whose value ends in a backslash', 'cn=b\\\\,dc=a', 'dc=a', true],
  ])('decides for %s', (_, entry, base, expected) => {
    expect(isBelow(entry, base)).toBe(expected);
  });
});

// The first is the example of RFC 4517 §3.3.21.
it.each([
  ["1.3.6.1.4.1.1466.0=#04024869,O=Test,C=GB#'0101'B", '1.3.6.1.4.1.1466.0=#04024869,O=Test,C=GB'],
  ["cn=a#''B", 'cn=a'],
  ['cn=a', 'cn=a'],
  ["cn=a#'012'B", "cn=a#'012'B"],
  ["cn=a'B", "cn=a'B"],
  ["cn=a#'01'B,dc=b", "cn=a#'01'B,dc=b"],
  ["cn=a#'1'B#'0'B", "cn=a#'1'B"],
])('reads %s as %s', (text, dn) => {
  expect(dnOfNameAndUid(text)).toBe(dn);
});
