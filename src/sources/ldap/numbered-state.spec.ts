import { describeLag, withKnownNumbers } from './numbered-state.js';

describe('the numbers of a server', () => {
  const known = { origin: 'A', latest: { 'dc=a': 7 }, included: { a: 7, b: 3 }, showsOthers: true };

  it.each([
    ['grow', { latest: { 'dc=a': 8 } }, null],
    ['go back', { latest: { 'dc=a': 6 } }, 'went back'],
    [
      'are of another server that does not show what it includes',
      { origin: 'B', included: { b: 5 }, showsOthers: false },
      null,
    ],
    ['are of another server that includes all', { origin: 'B', included: { a: 7, b: 5, c: 1 } }, null],
    ['are of another server that includes fewer', { origin: 'B', included: { a: 6, b: 5 } }, 'lacks changes'],
    ['are of another server that includes none', { origin: 'B', included: { b: 5 } }, 'lacks changes'],
  ])('that %s show whether it lags', (_, current, expected) => {
    const lag = describeLag(known, { ...known, latest: { 'dc=a': 1_000 }, ...current });
    expect(lag).toEqual(expected === null ? null : expect.stringContaining(expected));
  });

  it('show no lag when they are not known', () => {
    expect(describeLag(null, known)).toBeNull();
    expect(describeLag(known, null)).toBeNull();
  });

  it('of other servers remain known where a server hides them', () => {
    const now = { origin: 'B', latest: {} };
    expect(withKnownNumbers(now, null)).toEqual(now);
    expect(withKnownNumbers(now, known)).toEqual({ ...now, included: { a: 7, b: 3 } });
    const shown = { ...now, included: { b: 4 }, showsOthers: true };
    expect(withKnownNumbers(shown, known)).toEqual({ ...shown, included: { a: 7, b: 4 } });
    expect(withKnownNumbers(shown, null)).toEqual(shown);
  });

  it('that were stored without what is included do not show whether another server lags', () => {
    const former = { ...known, included: undefined };
    expect(describeLag(former, { ...known, origin: 'B', included: {} })).toBeNull();
  });
});
