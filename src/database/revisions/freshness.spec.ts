import { Freshness } from './freshness.js';

describe('the freshness of the mirror', () => {
  let now: number;
  let freshness: Freshness;

  beforeEach(() => {
    now = 1000;
    freshness = new Freshness(() => now);
  });

  it('is unknown before the first confirmation', () => {
    expect(freshness.age).toBeNull();
    expect(freshness.asOfRevision('one')).toBeNull();
  });

  it('is that of the database, plus the time since then', () => {
    freshness.note({ id: 'one', asOf: 5000, age: 3 });
    now += 10;
    expect(freshness.age).toBe(13);
    expect(freshness.asOfRevision('one')).toEqual(new Date(5000));
    expect(freshness.asOfRevision('two')).toBeNull();
  });

  it.each([
    ['forward', 40 * 86_400],
    ['back', -86_400],
  ])('does not change when the clock of the database is set %s', (_, jump) => {
    freshness.note({ id: 'one', asOf: 5000, age: 3 });
    now += 10;
    freshness.note({ id: 'one', asOf: 5000, age: 13 + jump });
    expect(freshness.age).toBe(13);
  });

  it('starts again with each confirmation and each revision', () => {
    freshness.note({ id: 'one', asOf: 5000, age: 3 });
    now += 100;
    freshness.note({ id: 'one', asOf: 9000, age: 1 });
    expect(freshness.age).toBe(1);
    now += 100;
    freshness.note({ id: 'two', asOf: 9000, age: 2 });
    expect(freshness.age).toBe(2);
    expect(freshness.asOfRevision('one')).toBeNull();
  });

  it('is insufficient for an instant in the future, except for usual differences of clocks', () => {
    freshness.note({ id: 'one', asOf: 5000, age: -3600 });
    expect(freshness.age).toBe(Infinity);
    freshness.note({ id: 'two', asOf: 5000, age: -2 });
    expect(freshness.age).toBe(0);
  });

  it('is unknown when there is no revision', () => {
    freshness.note({ id: 'one', asOf: 5000, age: 3 });
    freshness.note(null);
    expect(freshness.age).toBeNull();
  });
});
