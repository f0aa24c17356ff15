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

  it('follows a clock that goes on, or that is put forward or back by less than a day', () => {
    expect(advanceAll(steady, 1000, HOUR, DAY)).toEqual({ at: after(DAY), doubtedSince: null });
    expect(advanceAll(steady, 12 * HOUR, -12 * HOUR)).toEqual({ at: after(-12 * HOUR), doubtedSince: null });
  });

  it('does not follow one that leaps ahead for less than an hour', () => {
    const leapt = advanceAll(steady, 40 * DAY, 40 * DAY + HOUR - 1);
    expect(leapt).toEqual({ at: after(0), doubtedSince: after(40 * DAY) });
    expect(hasRecovered(leapt, after(40 * DAY))).toBe(false);
    expect(hasRecovered(leapt, after(2 * HOUR))).toBe(true);
    expect(advanceAll(leapt, 2 * HOUR)).toEqual({ at: after(2 * HOUR), doubtedSince: null });
  });

  it('follows one that stays there, as after a long pause', () => {
    const followed = advanceAll(steady, 40 * DAY, 40 * DAY + HOUR);
    expect(followed).toEqual({ at: after(40 * DAY + HOUR), doubtedSince: null });
    expect(hasRecovered(followed, after(40 * DAY + HOUR))).toBe(false);
  });

  it('begins to doubt once more when it leaps again, in either direction', () => {
    for (const next of [80, 39]) {
      const leapt = advanceAll(steady, 40 * DAY, next * DAY);
      expect(leapt).toEqual({ at: after(0), doubtedSince: after(next * DAY) });
    }
  });

  it('goes back at once with a clock that does', () => {
    expect(advanceAll(steady, -20_000 * DAY)).toEqual({ at: after(-20_000 * DAY), doubtedSince: null });
    expect(hasRecovered(steady, after(-20_000 * DAY))).toBe(false);
  });
});
