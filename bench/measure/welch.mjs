// Tests whether two series of times differ: Welch's t-test as in dudect (Reparaz, Balasch, Verbauwhede, 2017).
import { median } from './statistics.mjs';

/** Shares of the fastest samples that are compared, because the slowest depend on other load. */
const SHARES = [1, 0.99, 0.95, 0.9, 0.75, 0.5];

/** |t| from which the series differ. */
export const THRESHOLD = 4.5;

/**
 * @param {number[]} left times of one class
 * @param {number[]} right times of the other
 * @returns the largest t of the shares, the difference of the medians and the smallest detectable difference, in the unit of
 *   the times
 */
export function compareTimes(left, right) {
  const all = [...left, ...right].sort((one, other) => one - other);
  const tests = SHARES.map((share) => {
    const longest = all[Math.ceil(all.length * share) - 1];
    return welch(...[left, right].map((times) => times.filter((time) => time <= longest)));
  });
  const { t } = tests.reduce((largest, test) => (Math.abs(test.t) > Math.abs(largest.t) ? test : largest));
  const smallestDetectable = Math.min(...tests.map(({ error }) => error)) * THRESHOLD;
  return { t, difference: median(left) - median(right), smallestDetectable };
}

/** (mean₁ − mean₂) / √(variance₁ / n₁ + variance₂ / n₂) */
function welch(left, right) {
  const [one, other] = [left, right].map(moments);
  const error = Math.sqrt(one.variance / one.count + other.variance / other.count);
  return { t: (one.mean - other.mean) / error, error };
}

function moments(values) {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { count, mean, variance };
}
