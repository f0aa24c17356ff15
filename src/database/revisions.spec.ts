import { DirectoryDataSource } from './connections/data-source.js';
import { type MirrorReading, Revisions } from './revisions.js';

const [first, second, third] = [
  { number: 1, id: 'a' },
  { number: 2, id: 'b' },
  { number: 3, id: 'c' },
];
const NONE = { number: null, id: null };
const DATABASE = {
  ...{ url: 'postgres:///none', readUrl: null, embedded: null },
  ...{ timeoutSeconds: 5, poolSize: 1, previewPoolSize: 1 },
};

let revisions: Revisions;

beforeEach(() => {
  revisions = new Revisions(new DirectoryDataSource(DATABASE, []));
  // As if it listened.
  Object.assign(revisions, { isHeard: true });
});

/** The answer to a query that began after so many events. */
function answer(reading: Partial<MirrorReading>, events = revisions.events): void {
  revisions.accept({ ...NONE, asOf: 0, age: 0, mark: '', ...reading }, events);
}

describe('the current revision', () => {
  it('is that of the primary, even if its number decreases or stays', () => {
    expect([revisions.current, revisions.isNone]).toEqual([null, false]);
    for (const reported of [first, third, second, { number: 2, id: 'other' }, first]) {
      answer(reported);
      expect([revisions.current, revisions.isNone]).toEqual([reported, false]);
    }
    answer(NONE);
    expect([revisions.current, revisions.isNone]).toEqual([null, true]);
  });

  it('is unknown after another one was read, until the primary is read', () => {
    answer(second);
    revisions.note('b');
    expect(revisions.current).toEqual(second);
    revisions.note('c');
    expect(revisions.current).toBeNull();
    answer(third);
    expect(revisions.current).toEqual(third);
  });

  it('is unknown after an answer that was pending when another one was read', () => {
    answer(first);
    const { events } = revisions;
    revisions.note('b');
    answer(first, events);
    expect([revisions.current, revisions.latest]).toEqual([null, 'a']);
    answer(second);
    expect(revisions.current).toEqual(second);
  });

  it('is the one that this process has applied, and not that of an answer that was pending then', () => {
    answer(first);
    const { events } = revisions;
    revisions.noteApplied(second);
    answer(first, events);
    expect(revisions.current).toEqual(second);
  });
});

describe('the freshness of the mirror', () => {
  it('is that of the database, plus the time since then', () => {
    answer({ ...first, asOf: 5000, age: 3 });
    const passed = (revisions.age ?? 0) - 3;
    expect([passed >= 0, revisions.asOf]).toEqual([true, new Date(5000)]);
  });

  it('is insufficient for an instant in the future, except for usual differences of clocks', () => {
    answer({ ...first, asOf: 5000, age: -3600 });
    expect(revisions.age).toBe(Infinity);
    answer({ ...second, asOf: 5000, age: -2 });
    expect(revisions.age).toBeGreaterThanOrEqual(0);
    expect(revisions.age).toBeLessThan(2);
  });
});
