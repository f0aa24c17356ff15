// Records all response times, so that quantiles are exact.

const MAX_SAMPLES = 1 << 21;

export class Latencies {
  #milliseconds = new Float32Array(MAX_SAMPLES);
  #count = 0;

  clear() {
    this.#count = 0;
  }

  add(milliseconds) {
    this.#milliseconds[this.#count % MAX_SAMPLES] = milliseconds;
    this.#count++;
  }

  get count() {
    return this.#count;
  }

  /** @param {number[]} shares between 0 and 1 */
  quantiles(shares) {
    const sorted = this.#milliseconds.slice(0, Math.min(this.#count, MAX_SAMPLES)).sort();
    return shares.map(
      (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN,
    );
  }
}
