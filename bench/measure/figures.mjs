// The results of the rounds.
import { median } from './statistics.mjs';

export class Figures {
  #samples;

  /** @param {Map<string, import('./rounds.mjs').Sample[]>} samples of each scenario */
  constructor(samples) {
    this.#samples = samples;
  }

  get names() {
    return [...this.#samples.keys()];
  }

  has(name) {
    return this.#samples.has(name);
  }

  /** The median of each figure of a scenario. */
  of(name) {
    const samples = this.#samples.get(name);
    const names = Object.keys(samples[0]);
    return Object.fromEntries(names.map((each) => [each, median(samples.map((sample) => sample[each]))]));
  }

  /**
   * Returns the ratio of a figure of two scenarios: the median of the ratios within the rounds, because other load on the machine
   * affects both. Null if one of them was not measured.
   * @param {(sample: import('./rounds.mjs').Sample) => number} figure
   */
  compare(name, other, figure) {
    const samples = this.#samples.get(name);
    const others = this.#samples.get(other);
    if (samples === undefined || others === undefined) return null;
    return median(samples.map((sample, round) => figure(sample) / figure(others[round])));
  }

  /** Share of the machine that other processes used. */
  get others() {
    return median([...this.#samples.values()].flat().map(({ others }) => others));
  }

  toJSON() {
    return Object.fromEntries(this.#samples);
  }
}
