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

  it('is that of the primary, even if its number decreases or stays', () => {
    expect(current.known).toBeNull();
    for (const reported of [first, third, second, revision(2, 'other'), null, first]) {
      expect(report(reported)).toBe(true);
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
    expect(report(third)).toBe(true);
    expect(current.known).toEqual(third);
  });

  it('does not change when a slow statement has read an earlier one of the primary', () => {
    report(first);
    report(second);
    current.noteRead('a');
    expect([current.known, doubts]).toEqual([second, 0]);
  });

  it('does not change after a reading that the primary does not confirm', () => {
    report(second);
    current.noteRead('lost');
    report(second);
    expect(current.known).toEqual(second);
    current.noteRead('lost');
    expect([current.known, doubts]).toEqual([second, 1]);
  });

  it('ignores a result that was pending when this process applied a revision or read another one', () => {
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

  it('is the announced one if it follows the latest, and not an older answer that arrives later', () => {
    report(first);
    current.noteRead('b');
    current.beginQuery();
    expect(current.noteAnnounced(second, 'a')).toBe(true);
    expect(current.known).toEqual(second);
    expect(current.noteAnswer(first)).toBe(false);
    expect(current.noteAnnounced(second, 'a')).toBe(true);
    expect(report(third)).toBe(true);
    expect(current.noteAnnounced(second, 'a')).toBe(true);
    expect(current.known).toEqual(third);
  });

  it('is unknown after an announcement that does not follow it, and after an applied one it is that', () => {
    report(first);
    expect(current.noteAnnounced(third, 'b')).toBe(false);
    expect(current.known).toEqual(first);
    current.noteApplied(third);
    expect(current.known).toEqual(third);
  });

  it('says when it is another one', () => {
    let count = 0;
    current.onChanged = () => count++;
    report(first);
    current.noteAnnounced(second, 'a');
    current.noteAnnounced(second, 'a');
    current.noteApplied(third);
    report(third);
    current.noteApplied(second);
    report(null);
    expect(count).toBe(4);
  });

  it('ends the wait of those who read another one, at the latest after a time', async () => {
    report(first);
    current.noteRead('b');
    const [waiting, late] = [current.whenKnown(1e6), current.whenKnown(1)];
    await late;
    expect(current.known).toBeNull();
    current.noteAnnounced(second, 'a');
    await waiting;
    expect(current.known).toEqual(second);
  });

  it('can be an earlier one if the primary has it again', () => {
    report(first);
    report(second);
    report(first);
    expect(current.known).toEqual(first);
    current.noteRead('b');
    expect([current.known, doubts]).toEqual([first, 0]);
  });

  it('keeps a bounded history', () => {
    for (let number = 0; number < 10_000; number++) report(revision(number, String(number)));
    current.noteRead('9990');
    expect(doubts).toBe(0);
    current.noteRead('10');
    expect([current.known, doubts]).toEqual([null, 1]);
    report(revision(9999, '9999'));
    expect(current.known).toEqual(revision(9999, '9999'));
  });
});
