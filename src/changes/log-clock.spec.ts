import { advance, hasRecovered, type LogClock } from './retention.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);
const after = (milliseconds: number) => new Date(START + milliseconds);

describe('the clock of the log', () => {
  const steady: LogClock = { at: after(0), doubtedSince: null };

  function advanceAll(clock: LogClock, ...milliseconds: number[]): LogClock {
    return milliseconds.reduce((before, each) => advance(before, after(each)), clock);
  }

  it('follows a clock without jumps, and jumps of less than a day', () => {
    expect(advanceAll(steady, 1000, HOUR, DAY)).toEqual({ at: after(DAY), doubtedSince: null });
    expect(advanceAll(steady, 12 * HOUR, -12 * HOUR)).toEqual({ at: after(-12 * HOUR), doubtedSince: null });
  });

  it('does not follow a larger jump for less than an hour', () => {
    const leapt = advanceAll(steady, 40 * DAY, 40 * DAY + HOUR - 1);
    expect(leapt).toEqual({ at: after(0), doubtedSince: after(40 * DAY) });
    expect(hasRecovered(leapt, after(40 * DAY))).toBe(false);
    expect(hasRecovered(leapt, after(2 * HOUR))).toBe(true);
    expect(advanceAll(leapt, 2 * HOUR)).toEqual({ at: after(2 * HOUR), doubtedSince: null });
  });

  it('follows a jump that lasts, like after a long pause', () => {
    const followed = advanceAll(steady, 40 * DAY, 40 * DAY + HOUR);
    expect(followed).toEqual({ at: after(40 * DAY + HOUR), doubtedSince: null });
    expect(hasRecovered(followed, after(40 * DAY + HOUR))).toBe(false);
  });

  it('checks each new jump, in either direction', () => {
    for (const next of [80, 39]) {
      const leapt = advanceAll(steady, 40 * DAY, next * DAY);
      expect(leapt).toEqual({ at: after(0), doubtedSince: after(next * DAY) });
    }
  });

  it('returns immediately when the clock does', () => {
    expect(advanceAll(steady, -20_000 * DAY)).toEqual({ at: after(-20_000 * DAY), doubtedSince: null });
    expect(hasRecovered(steady, after(-20_000 * DAY))).toBe(false);
  });
});
