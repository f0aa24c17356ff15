// Signed URLs of photos for those who do not have them from the service: the same, by the same key.
import { createHmac, createSecretKey } from 'node:crypto';

const LIFE = 3600;
const ROUNDING = 60;

export class SignedPhotos {
  #baseUrl;
  #key;
  #remembered = null;
  #expires = 0;

  /**
   * @param {string} key hexadecimal
   * @param {boolean} remembers gives out the same URL while its minute lasts, without signing it again
   */
  constructor(baseUrl, key, remembers) {
    this.#baseUrl = baseUrl;
    // Made once: Node 24 takes six times as long to sign with the bytes of a key.
    this.#key = createSecretKey(key, 'hex');
    if (remembers) this.#remembered = new Map();
  }

  find(id, hasPhoto) {
    if (!hasPhoto) return null;
    const expires = Math.ceil((Date.now() / 1000 + LIFE) / ROUNDING) * ROUNDING;
    if (this.#remembered === null) return this.#sign(id, expires);
    if (expires !== this.#expires) {
      this.#remembered.clear();
      this.#expires = expires;
    }
    let url = this.#remembered.get(id);
    if (url === undefined) {
      url = this.#sign(id, expires);
      this.#remembered.set(id, url);
    }
    return url;
  }

  #sign(id, expires) {
    const path = `/photo/v1/${encodeURIComponent(id)}`;
    const signature = createHmac('sha256', this.#key).update(`${path}\n${expires}\n`).digest('hex');
    return `${this.#baseUrl}${path}?expires=${expires}&signature=${signature}`;
  }
}
