import { CurrentRevision } from './revision.js';

const revision = (number: number, id: string) => ({ number, id });
const [first, second, third] = [revision(1, 'a'), revision(2, 'b'), revision(3, 'c')];

describe('the current revision', () => {
  let current: CurrentRevision;
  let doubts: number;

  beforeEach(() => {
    current = new CurrentRevision();
    doubts = 0;
    current.onUnknownRevision = () => doubts++;
  });

  function report(reported: typeof first | null): boolean {
    current.beginQuery();
    return current.noteAnswer(reported);
  }

  it('is the one that the primary tells, also when its number goes down or stays', () => {
    expect(current.known).toBeNull();
    for (const reported of [first, third, second, revision(2, 'other'), null, first]) {
      expect(report(reported)).toBe(true);
      expect(current.known).toEqual(reported);
    }
    expect(doubts).toBe(0);
  });

  it('is not known once another one was read, until the primary is asked', () => {
    report(second);
    current.noteRead('b');
    expect([current.known, doubts]).toEqual([second, 0]);
    current.noteRead('c');
    expect([current.known, doubts]).toEqual([null, 1]);
    expect(report(third)).toBe(true);
    expect(current.known).toEqual(third);
  });

  it('stays what it is when a slow statement has read one that the primary told before', () => {
    report(first);
    report(second);
    current.noteRead('a');
    expect([current.known, doubts]).toEqual([second, 0]);
  });

  it('stays what it is when something was read that the primary does not tell afterwards', () => {
    report(second);
    current.noteRead('lost');
    report(second);
    expect(current.known).toEqual(second);
    current.noteRead('lost');
    expect([current.known, doubts]).toEqual([second, 1]);
  });

  it('is not taken from an answer that was on its way when this process applied one, or read another one', () => {
    report(first);
    current.beginQuery();
    current.noteApplied(second);
    expect(current.noteAnswer(first)).toBe(false);
    expect(current.known).toEqual(second);

    current.beginQuery();
    current.noteRead('c');
    expect(current.noteAnswer(second)).toBe(false);
    expect(current.known).toBeNull();
    expect(report(third)).toBe(true);
    expect(current.known).toEqual(third);
  });

  it('is one that was superseded, when the primary has it again', () => {
    report(first);
    report(second);
    report(first);
    expect(current.known).toEqual(first);
    current.noteRead('b');
    expect([current.known, doubts]).toEqual([first, 0]);
  });

  it('remembers a bounded number of those that it was', () => {
    for (let number = 0; number < 10_000; number++) report(revision(number, String(number)));
    current.noteRead('9990');
    expect(doubts).toBe(0);
    current.noteRead('10');
    expect([current.known, doubts]).toEqual([null, 1]);
    report(revision(9999, '9999'));
    expect(current.known).toEqual(revision(9999, '9999'));
  });
});
