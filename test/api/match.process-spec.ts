import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { prepareValue } from '../../src/common/match.js';

/** RFC 4518 with the tables of RFC 3454 and Unicode 3.2, as Python has them. It skips the steps that only reject values. */
const RFC_4518 = `
import json, stringprep, sys
from unicodedata import ucd_3_2_0 as unicode
SPACES = '\\t\\n\\v\\f\\r\\x85'
NOTHING = '\\u00ad\\u1806\\u034f\\u180b\\u180c\\u180d\\ufffc\\u200b' + ''.join(map(chr, range(0xfe00, 0xfe10)))
def map_one(c, folds):
    kind = unicode.category(c)
    if c in NOTHING: return ''
    if c in SPACES or kind in ('Zs', 'Zl', 'Zp'): return ' '
    if kind in ('Cc', 'Cf'): return ''
    return stringprep.map_table_b2(c) if folds else c
def prepare(text, folds):
    text = unicode.normalize('NFKC', ''.join(map_one(c, folds) for c in text))
    marked = lambda at: at + 1 < len(text) and unicode.category(text[at + 1])[0] == 'M'
    words, word = [], ''
    for at, c in enumerate(text):
        if c == ' ' and not marked(at):
            if word: words.append(word)
            word = ''
        else: word += c
    return '  '.join(words + ([word] if word else []))
for line in sys.stdin:
    text = json.loads(line)
    print(json.dumps([prepare(text, True), prepare(text, False)]))
`;

const prepareAll = (texts: readonly string[]) => {
  const input = texts.map((text) => `${JSON.stringify(text)}\n`).join('');
  const { stdout, stderr } = spawnSync('python3', ['-c', RFC_4518], {
    input,
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  expect(stderr).toBe('');
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as [caseIgnore: string, caseExact: string]);
};

/** Characters that Unicode 3.2 has, with the same properties as today. */
const RANGES = [
  [0x20, 0x17f],
  [0x20, 0x7e],
  [0x386, 0x3ce],
  [0x400, 0x45f],
  [0x5d0, 0x5ea],
  [0x1e00, 0x1e9b],
  [0x300, 0x344],
  [0x1f00, 0x1f15],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x2100, 0x213a],
  [0x3041, 0x3096],
  [0xac00, 0xd7a3],
  [0xfb00, 0xfb06],
  [0xfe00, 0xfe0f],
  [0xff01, 0xff5e],
] as const;
const character = fc.oneof(
  ...RANGES.map(([min, max]) => fc.integer({ min, max }).map((code) => String.fromCodePoint(code))),
  fc.constantFrom(
    ' ',
    '  ',
    '\t',
    '\n',
    '\u0085',
    '\u00ad',
    '\u3000',
    '\ufffc',
    '\0',
    'ß',
    'ẞ',
    'ς',
    'ı',
    'İ',
    '\u{1d400}',
  ),
);

describe('values', () => {
  it('are equal if RFC 4518 says so', () => {
    const assigned = (text: string) => !/\u1e9e/.test(text);
    const texts = fc.sample(fc.array(character, { maxLength: 8 }), 10_000).map((parts) => parts.join(''));
    const known = texts.filter(assigned);
    const expected = prepareAll(known);
    const wrong = known.filter((text, index) => {
      const [caseIgnore, caseExact] = expected[index] ?? ['', ''];
      return (
        prepareValue(text, 'caseIgnore') !== caseIgnore.replaceAll('  ', ' ') ||
        prepareValue(text, 'caseExact') !== caseExact.replaceAll('  ', ' ')
      );
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ['caseIgnore', 'Straße  1', ' STRASSE 1', true],
    ['caseIgnore', 'ẞ', 'ss', true],
    ['caseIgnore', 'Müller', 'Mu\u0308ller', true],
    ['caseIgnore', 'Müller', 'Muller', false],
    ['caseIgnore', 'ılık', 'ilik', false],
    ['caseIgnore', 'ΟΔΟΣ', 'οδος', true],
    ['caseIgnore', '1A', '1 A', false],
    ['caseExact', 'a  b', 'a b', true],
    ['caseExact', 'ａ b', 'a b', true],
    ['caseExact', 'A b', 'a b', false],
    ['phone', '+493023125234', '+49 30 23125 234', true],
    ['phone', '+49 (30) 23125-234', '+49.30/23125\u2013234', true],
    ['phone', '+49 30 1', '49 30 1', false],
    ['phone', '１２ EXT. 3', '12ext3', true],
    ['integer', '007', '7', true],
    ['integer', '+7', '7', true],
    ['integer', '-07', '-7', true],
    ['integer', '000', '0', true],
    ['integer', '-7', '7', false],
    ['integer', '7 a', '007 a', false],
  ] as const)('of %s: %j and %j: %s', (match, left, right, isEqual) => {
    expect(prepareValue(left, match) === prepareValue(right, match)).toBe(isEqual);
  });
});
