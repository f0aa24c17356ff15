// Signed URLs of photos for the other contenders, with the format and key of the service.
import { createHmac, createSecretKey } from 'node:crypto';

const LIFE = 3600;
const ROUNDING = 60;

export class SignedPhotos {
  #baseUrl;
  #key;
  #cache = null;
  #expires = 0;

  /**
   * @param {string} key hexadecimal
   * @param {boolean} isCached returns the same URL for a minute, without signing it again
   */
  constructor(baseUrl, key, isCached) {
    this.#baseUrl = baseUrl;
    // Created once: in Node 24, signing with the bytes of a key takes six times as long.
    this.#key = createSecretKey(key, 'hex');
    if (isCached) this.#cache = new Map();
  }

  find(id, hasPhoto) {
    if (!hasPhoto) return null;
    const expires = Math.ceil((Date.now() / 1000 + LIFE) / ROUNDING) * ROUNDING;
    if (this.#cache === null) return this.#sign(id, expires);
    if (expires !== this.#expires) {
      this.#cache.clear();
      this.#expires = expires;
    }
    let url = this.#cache.get(id);
    if (url === undefined) {
      url = this.#sign(id, expires);
      this.#cache.set(id, url);
    }
    return url;
  }

  #sign(id, expires) {
    const path = `/photo/v1/${encodeURIComponent(id)}`;
    const signature = createHmac('sha256', this.#key).update(`${path}\n${expires}\n`).digest('hex');
    return `${this.#baseUrl}${path}?expires=${expires}&signature=${signature}`;
  }
}
