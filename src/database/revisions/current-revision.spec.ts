import { CurrentRevision } from './revision.js';

const revision = (number: number, id: string) => ({ number, id });
const [first, second, third] = [revision(1, 'a'), revision(2, 'b'), revision(3, 'c')];

let now: number;
let current: CurrentRevision;
let doubts: number;

beforeEach(() => {
  now = 1000;
  current = new CurrentRevision(() => now);
  doubts = 0;
  current.onDoubt = () => doubts++;
});

describe('the current revision', () => {
  function report(reported: typeof first | null): void {
    current.beginQuery();
    answer(reported);
  }

  function answer(reported: typeof first | null): void {
    current.noteAnswer(reported && { ...reported, asOf: 0, age: 0 });
  }

  it('is that of the primary, even if its number decreases or stays', () => {
    expect(current.known).toBeNull();
    for (const reported of [first, third, second, revision(2, 'other'), null, first]) {
      report(reported);
      expect(current.known).toEqual(reported);
    }
    expect(doubts).toBe(0);
  });

  it('is unknown after another one was read, until the primary is read', () => {
    report(second);
    current.noteRead('b');
    expect([current.known, doubts]).toEqual([second, 0]);
    current.noteRead('c');
    expect([current.known, doubts]).toEqual([null, 1]);
    report(third);
    expect(current.known).toEqual(third);
  });

  it('is that of the primary again after a reading that it does not confirm', () => {
    report(second);
    current.noteRead('lost');
    report(second);
    expect(current.known).toEqual(second);
  });

  it('is unknown after a result that was pending when another one was read', () => {
    report(first);
    current.beginQuery();
    current.noteRead('b');
    answer(first);
    expect([current.known, current.latest]).toEqual([null, first]);
    report(second);
    expect(current.known).toEqual(second);
  });

  it('is the one that this process has applied, and not that of a result that was pending then', () => {
    report(first);
    current.beginQuery();
    current.noteApplied(second);
    answer(first);
    expect([current.known, doubts]).toEqual([second, 1]);
  });

  it('says when it is another one', () => {
    let count = 0;
    current.onChanged = () => count++;
    for (const reported of [first, first, second, null, null]) report(reported);
    expect(count).toBe(3);
  });

  it('ends the wait of those who read another one, at the latest after a time', async () => {
    report(first);
    current.noteRead('b');
    const [waiting, late] = [current.whenKnown(1e6), current.whenKnown(1)];
    await late;
    expect(current.known).toBeNull();
    report(second);
    await waiting;
    expect(current.known).toEqual(second);
  });
});

describe('the freshness of the mirror', () => {
  const measure = (id: string, asOf: number, age: number) => {
    current.measure({ number: 1, id, asOf, age });
  };

  it('is unknown before the first confirmation', () => {
    expect(current.age).toBeNull();
    expect([current.asOf(), current.asOf('one')]).toEqual([null, null]);
  });

  it('is that of the database, plus the time since then', () => {
    measure('one', 5000, 3);
    now += 10;
    expect(current.age).toBe(13);
    expect(current.asOf('one')).toEqual(new Date(5000));
    expect(current.asOf()).toEqual(new Date(5000));
    expect(current.asOf('two')).toBeNull();
  });

  it.each([
    ['forward', 40 * 86_400],
    ['back', -86_400],
  ])('does not change when the clock of the database is set %s', (_, jump) => {
    measure('one', 5000, 3);
    now += 10;
    measure('one', 5000, 13 + jump);
    expect(current.age).toBe(13);
  });

  it('starts again with each confirmation and each revision', () => {
    measure('one', 5000, 3);
    now += 100;
    measure('one', 9000, 1);
    expect(current.age).toBe(1);
    now += 100;
    measure('two', 9000, 2);
    expect(current.age).toBe(2);
    expect(current.asOf('one')).toBeNull();
  });

  it('is insufficient for an instant in the future, except for usual differences of clocks', () => {
    measure('one', 5000, -3600);
    expect(current.age).toBe(Infinity);
    measure('two', 5000, -2);
    expect(current.age).toBe(0);
  });

  it('is unknown when there is no revision', () => {
    measure('one', 5000, 3);
    current.measure(null);
    expect(current.age).toBeNull();
  });
});
