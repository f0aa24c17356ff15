import fc from 'fast-check';
import { backOff } from './back-off.js';

const LARGEST = 1 - Number.EPSILON / 2;

describe('backOff', () => {
  it('doubles the maximum delay with every failure, up to half a minute', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 8, 100, 10_000].map((attempt) => backOff(attempt, LARGEST));
    expect(longest).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  });

  it('distributes the delay over the whole range', () => {
    const random = fc.double({ min: 0, max: LARGEST, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), random, (attempt, chosen) => {
        const longest = backOff(attempt, LARGEST);
        expect(Math.abs(backOff(attempt, chosen) - longest * chosen)).toBeLessThanOrEqual(1);
      }),
    );
    expect(backOff(5, 0)).toBe(0);
  });
});
