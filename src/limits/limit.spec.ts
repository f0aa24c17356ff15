import { Limit } from './limits.js';

describe('a limit of 3 in 10 seconds', () => {
  let now: number;
  let limit: Limit;

  beforeEach(() => {
    now = 1_000_000;
    limit = new Limit('test', 3, 10, () => now);
  });

  it('allows exactly this amount, for each subject', () => {
    const taken = [1, 1, 1, 1].map((amount) => limit.take('anna', amount).isTaken);
    expect(taken).toEqual([true, true, true, false]);
    expect(limit.take('ben', 3).isTaken).toBe(true);
  });

  it('is charged completely or not at all', () => {
    limit.take('anna', 2);
    const refused = limit.take('anna', 2);
    expect([refused.isTaken, limit.remaining(refused)]).toEqual([false, 1]);
    expect(limit.take('anna', 1).isTaken).toBe(true);
  });

  it('is complete again after the window that the first charge started', () => {
    limit.take('anna', 1);
    now += 9_999;
    const last = limit.take('anna', 2);
    expect([last.isTaken, limit.remaining(last), limit.reset(last)]).toEqual([true, 0, 1]);
    expect(limit.take('anna', 1).isTaken).toBe(false);
    now += 1;
    const next = limit.take('anna', 1);
    expect([next.isTaken, limit.remaining(next), limit.reset(next)]).toEqual([true, 2, 10]);
  });

  it('starts no window by being read', () => {
    expect(limit.take('anna', 0)).toEqual({ isTaken: true, taken: 0, until: now + 10_000 });
    now += 5_000;
    limit.take('anna', 1);
    now += 9_000;
    expect(limit.take('anna', 0).taken).toBe(1);
  });

  it('continues from the counts of other processes', () => {
    limit.take('anna', 1);
    limit.note('anna', { isTaken: true, taken: 3, until: now + 2_000 });
    const refused = limit.take('anna', 1);
    expect([refused.isTaken, limit.reset(refused)]).toEqual([false, 2]);
    now += 2_000;
    expect(limit.take('anna', 1).isTaken).toBe(true);
  });
});
