import { buildSchema } from 'graphql';
import { findDeprecationProblems, monthsAfter, parseDeprecation } from './deprecation.js';

const day = (text: string) => new Date(`${text}T00:00:00Z`);

describe('the reason of a deprecation', () => {
  it('tells since when, and from when on it may be gone', () => {
    const reason = 'Use `name`. Deprecated since 2026-01-31, gone from 2026-08-01.';
    expect(parseDeprecation(reason)).toEqual({ since: day('2026-01-31'), sunset: day('2026-08-01') });
  });

  it.each([
    'No longer supported',
    'Deprecated since 2026-01-31, gone from 2026-08-01.',
    'Use `name`. Deprecated since 2026-01-31.',
    'Use `name`. Deprecated since 2026-02-30, gone from 2026-09-01.',
    'Use `name`. Deprecated since 2026-01-31, gone from 2026-13-01.',
    'Use `name`. Deprecated since 2026-01-31, gone from 2026-08-01. Really.',
  ])('is nothing else: %s', (reason) => {
    expect(parseDeprecation(reason)).toBeNull();
  });
});

describe('months after a day', () => {
  it('end on the same day, or where there is none, later', () => {
    expect(monthsAfter(day('2026-11-21'), 6)).toEqual(day('2027-05-21'));
    expect(monthsAfter(day('2026-08-31'), 6)).toEqual(day('2027-03-03'));
  });
});

describe('the deprecations of a schema', () => {
  const problemsOf = (reason: string) =>
    findDeprecationProblems(
      buildSchema(`
        type Query { old: Int @deprecated(reason: "${reason}") }
      `),
    );

  it('give clients half a year', () => {
    expect(problemsOf('Use x. Deprecated since 2026-01-31, gone from 2026-07-31.')).toEqual([]);
    expect(problemsOf('Use x. Deprecated since 2026-01-31, gone from 2026-07-30.')).toEqual([
      'Query.old is to be gone less than 6 months after it was deprecated',
    ]);
  });

  it('have dates, wherever they stand', () => {
    const problems = findDeprecationProblems(
      buildSchema(`
        type Query { field(argument: In @deprecated): Kind @deprecated }
        input In { part: Int @deprecated }
        enum Kind { VALUE @deprecated }
      `),
    );
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'Query.field',
      'Query.field(argument:)',
      'In.part',
      'Kind.VALUE',
    ]);
  });
});
