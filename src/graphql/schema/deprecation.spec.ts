import { buildSchema } from 'graphql';
import { monthsAfter, parseDeprecation } from '../../common/deprecation.js';
import { findDeprecationProblems } from './deprecation.js';

const day = (text: string) => new Date(`${text}T00:00:00Z`);

describe('the reason of a deprecation', () => {
  it('contains the dates of deprecation and removal', () => {
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
  ])('has no other form: %s', (reason) => {
    expect(parseDeprecation(reason)).toBeNull();
  });
});

describe('months after a day', () => {
  it('end on the same day of the month, or later if there is none', () => {
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

  it('are at least half a year before the removal', () => {
    expect(problemsOf('Use x. Deprecated since 2026-01-31, gone from 2026-07-31.')).toEqual([]);
    expect(problemsOf('Use x. Deprecated since 2026-01-31, gone from 2026-07-30.')).toEqual([
      'Query.old is to be gone less than 6 months after it was deprecated',
    ]);
  });

  it('have dates in every position', () => {
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
