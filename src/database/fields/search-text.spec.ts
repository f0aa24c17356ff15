/** @isolated The suite replaces String.prototype.normalize. */
import { parseSearch } from './search-text.js';
import { ServiceError } from '../../common/errors.js';
import { foldId } from '../../common/identity.js';

/**
 * Builds combining marks in the worst order: normalization has to move each mark past all marks before it.
 */
const MARKS = ['\u0345', '\u0315', '\u0301', '\u0327', '\u0334'];
const worstCase = (length: number) =>
  `a${MARKS.map((mark) => mark.repeat(Math.ceil(length / MARKS.length))).join('')}`.slice(0, length);

const LONG = 100_000;

/** Counts the calls of `normalize`, whose cost grows with the length of the text. */
function countNormalizations(work: () => void): number {
  const normalize = jest.spyOn(String.prototype, 'normalize');
  try {
    work();
    return normalize.mock.calls.length;
  } finally {
    normalize.mockRestore();
  }
}

describe('an id', () => {
  it('is folded up to 256 code units', () => {
    expect(foldId('Anna')).toBe('anna');
    expect(['ΣΑΣ', 'σας', 'İX'].map(foldId)).toEqual(['σασ', 'σας', 'ix']);
    expect(foldId('A'.repeat(256))).toBe('a'.repeat(256));
    expect(foldId('A\u0308'.repeat(128))).toBe('ä'.repeat(128));
  });

  it('that is longer is not normalized, and becomes a value that no id has', () => {
    const folded = [...['x'.repeat(257), 'A\u0308'.repeat(129), worstCase(LONG)].map(foldId)];
    expect(new Set(folded).size).toBe(1);
    expect(foldId(folded[0] ?? '')).not.toBe(folded[0]);
    expect(countNormalizations(() => foldId(worstCase(LONG)))).toBe(0);
    expect(countNormalizations(() => foldId(worstCase(256)))).toBe(1);
  });
});

describe('the text of a search', () => {
  it('has 2 to 64 characters, however many code units each takes', () => {
    // The longest letter after decomposition: alpha with three marks.
    for (const each of ['a', 'ä', 'A\u0308', '\u{1F600}', '\u03B1\u0313\u0300\u0345']) {
      expect(() => parseSearch(each.repeat(64), 'query')).not.toThrow();
      expect(() => parseSearch(each.repeat(65), 'query')).toThrow(ServiceError);
      expect(() => parseSearch(each, 'query')).toThrow('query must have 2 to 64 characters, or one of');
    }
  });

  it('is rejected without normalization if it is too long in any case', () => {
    const refuse = () => {
      expect(() => parseSearch(worstCase(LONG), 'search')).toThrow('search must have 2 to 64 characters');
    };
    expect(countNormalizations(refuse)).toBe(0);
  });
});
