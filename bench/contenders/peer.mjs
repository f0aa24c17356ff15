// What the servers beside the service have in common: their settings, the users of tokens, and signed URLs of photos.
import { createHmac, createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';

const LIFE_SECONDS = 3600;
/** A URL stays the same for a quarter of an hour, as that of the service. */
const PERIOD_SECONDS = 900;

export const ROLES = [null, 'MEMBER', 'ADMIN', 'OWNER'];

/** @param environment PORT, DATABASE_URL, TABLES (ordinary or read_model), TOKENS_FILE, BASE_URL, SIGNING_KEY */
export function readPeer({ PORT, DATABASE_URL, TABLES, TOKENS_FILE, BASE_URL, SIGNING_KEY }) {
  const isLikeForLike = TABLES === 'read_model';
  const people = new Map(Object.entries(JSON.parse(readFileSync(TOKENS_FILE, 'utf8'))));
  // The settings of the connections of the service.
  const onConnect = async (client) => {
    await client.query('set plan_cache_mode = force_generic_plan; set enable_memoize = off; set jit = off');
  };
  return {
    port: Number(PORT),
    databaseUrl: DATABASE_URL,
    tables: TABLES,
    isLikeForLike,
    poolOptions: { max: 10, ...(isLikeForLike ? { onConnect } : {}) },
    photos: new SignedPhotos(BASE_URL, SIGNING_KEY, isLikeForLike),
    /** The user of the token of a request, or undefined. */
    personOf: ({ headers }) => people.get(headers.authorization?.slice('Bearer '.length)),
  };
}

class SignedPhotos {
  #baseUrl;
  #key;
  #cache = null;
  #expires = 0;

  /** @param isCached whether a URL is signed once in its quarter of an hour */
  constructor(baseUrl, key, isCached) {
    this.#baseUrl = baseUrl;
    // Created once: in Node.js 24, signing with the bytes of a key takes six times as long.
    this.#key = createSecretKey(key, 'hex');
    if (isCached) this.#cache = new Map();
  }

  find(id, hasPhoto) {
    if (!hasPhoto) return null;
    const expires = Math.ceil((Date.now() / 1000 + LIFE_SECONDS) / PERIOD_SECONDS) * PERIOD_SECONDS;
    if (this.#cache === null) return this.#sign(id, expires);
    if (expires !== this.#expires) this.#cache.clear();
    this.#expires = expires;
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
