// What came out of the rounds, for those who write about it.
import { median } from './statistics.mjs';

export class Figures {
  #samples;

  /** @param {Map<string, import('./rounds.mjs').Sample[]>} samples of each cell */
  constructor(samples) {
    this.#samples = samples;
  }

  get names() {
    return [...this.#samples.keys()];
  }

  has(name) {
    return this.#samples.has(name);
  }

  /** The median of each figure of a cell. */
  of(name) {
    const samples = this.#samples.get(name);
    const names = Object.keys(samples[0]);
    return Object.fromEntries(names.map((each) => [each, median(samples.map((sample) => sample[each]))]));
  }

  /**
   * How the figures of two cells compare: the median of the rounds' own ratios, since whatever slows the machine down
   * slows down both. Null when one of them was not measured.
   * @param {(sample: import('./rounds.mjs').Sample) => number} figure
   */
  compare(name, other, figure) {
    const samples = this.#samples.get(name);
    const others = this.#samples.get(other);
    if (samples === undefined || others === undefined) return null;
    return median(samples.map((sample, round) => figure(sample) / figure(others[round])));
  }

  /** Share of the machine that was busy with something else. */
  get others() {
    return median([...this.#samples.values()].flat().map(({ others }) => others));
  }

  toJSON() {
    return Object.fromEntries(this.#samples);
  }
}
