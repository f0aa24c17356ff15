// @ts-check
import { createHash } from 'node:crypto';

/**
 * @typedef {object} Random
 * @property {() => number} number a number in [0, 1)
 * @property {(from: number, to: number) => number} between a number in [from, to)
 * @property {(from: number, to: number) => number} integer a whole number from `from` to `to`, both included
 * @property {(probability: number) => boolean} chance
 * @property {<T>(list: readonly T[]) => T} pick
 * @property {<T>(choices: readonly (readonly [number, T])[]) => T} weighted picks by weight
 * @property {<T>(list: readonly T[]) => T[]} shuffle a shuffled copy
 */

/**
 * A generator of its own for every purpose and every person, so that one more person or one more hair style
 * changes no other person.
 * @param {...string} purpose
 * @returns {Random}
 */
export function randomFor(...purpose) {
  let state = digestOf(purpose.join('\n')).readUInt32LE(0);

  // mulberry32: 32 bits of state are plenty for the few dozen draws that each purpose takes.
  const number = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** @type {Random['between']} */
  const between = (from, to) => from + (to - from) * number();
  /** @type {Random['integer']} */
  const integer = (from, to) => from + Math.floor(number() * (to - from + 1));
  /** @type {Random['chance']} */
  const chance = (probability) => number() < probability;
  /** @type {Random['pick']} */
  const pick = (list) => list[integer(0, list.length - 1)];
  /** @type {Random['weighted']} */
  const weighted = (choices) => {
    let remaining = between(
      0,
      choices.reduce((sum, [weight]) => sum + weight, 0),
    );
    for (const [weight, value] of choices) {
      remaining -= weight;
      if (remaining < 0) return value;
    }
    return choices[choices.length - 1][1];
  };
  /** @type {Random['shuffle']} */
  const shuffle = (list) => {
    const copy = [...list];
    for (let last = copy.length - 1; last > 0; last--) {
      const other = integer(0, last);
      [copy[last], copy[other]] = [copy[other], copy[last]];
    }
    return copy;
  };

  return { number, between, integer, chance, pick, weighted, shuffle };
}

/**
 * Looks like the random UUID a server would have given (version 4, RFC 9562), and is the same in every run.
 * @param {string} name
 */
export function uuidFor(name) {
  const bytes = digestOf(`entryUUID\n${name}`).subarray(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** @param {string} text */
function digestOf(text) {
  return createHash('sha256').update(text).digest();
}
