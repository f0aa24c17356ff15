// How long answers took: all of them, so that no quantile is an estimate.

const MOST = 1 << 21;

export class Latencies {
  #milliseconds = new Float32Array(MOST);
  #count = 0;

  clear() {
    this.#count = 0;
  }

  add(milliseconds) {
    this.#milliseconds[this.#count % MOST] = milliseconds;
    this.#count++;
  }

  get count() {
    return this.#count;
  }

  /** @param {number[]} shares between 0 and 1 */
  quantiles(shares) {
    const sorted = this.#milliseconds.slice(0, Math.min(this.#count, MOST)).sort();
    return shares.map(
      (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN,
    );
  }
}
