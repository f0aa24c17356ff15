import { type Minute, minuteOf, sumOf, withMeasurement } from './minutes.js';

const MINUTE = 60_000;
const START = minuteOf(Date.parse('2030-01-15T07:30:42Z'));
const minute = (number: number, requests: number, ageSeconds: number | null): Minute => ({
  at: START + number * MINUTE,
  requests,
  ageSeconds,
});

describe('the minutes of the last hour', () => {
  it('add up requests, and have the highest age that was measured', () => {
    let minutes: readonly Minute[] = [];
    for (const age of [null, 3, 2]) minutes = withMeasurement(minutes, minute(0, 5, age));
    minutes = withMeasurement(minutes, minute(1, 1, null));
    expect(minutes).toEqual([minute(0, 15, 3), minute(1, 1, null)]);
  });

  it('are at most sixty, even after a pause', () => {
    let minutes: readonly Minute[] = [];
    for (let number = 0; number < 100; number++) minutes = withMeasurement(minutes, minute(number, 1, 0));
    expect(minutes).toEqual(Array.from({ length: 60 }, (_, index) => minute(40 + index, 1, 0)));
    expect(withMeasurement(minutes, minute(140, 1, 0))).toEqual([
      ...Array.from({ length: 19 }, (_, index) => minute(81 + index, 1, 0)),
      minute(140, 1, 0),
    ]);
  });

  it('continue with the last one after the clock was set back a little', () => {
    const minutes = withMeasurement([minute(0, 1, 1)], minute(-3, 2, 5));
    expect(minutes).toEqual([minute(0, 3, 5)]);
  });

  it('do not keep what a clock measured that was far ahead', () => {
    const ahead = [minute(0, 1, 1), minute(1, 1, 1), minute(576_000, 4, 1)];
    expect(withMeasurement(ahead, minute(1, 2, 5))).toEqual([minute(0, 1, 1), minute(1, 3, 5)]);
  });

  it('of several processes are combined', () => {
    const first = [minute(0, 1, 4), minute(1, 2, null)];
    const second = [minute(1, 3, 2), minute(2, 4, 1)];
    expect(sumOf([first, second])).toEqual([minute(0, 1, 4), minute(1, 5, 2), minute(2, 4, 1)]);
  });
});
