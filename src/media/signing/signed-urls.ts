import type { CacheStatistics } from '../../common/cache-statistics.js';
import { BadUserInputError } from '../../common/errors.js';
import { isPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';
import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/config.js';
import type { EmbeddedKeys } from '../../database/embedded/embedded-keys.js';

/** Properties of a user that the URLs of pictures depend on. */
export interface Pictured {
  /** Primary key. A lookup by number is faster than one by id. */
  readonly key: number;
  readonly id: string;
  readonly hasPhoto: boolean;
  readonly hasPicture: boolean;
}

interface Remembered {
  /** Id of the user in the URL. The id of a user may change; the key does not. */
  readonly id: string;
  readonly url: string;
}

/** Maximum number of cached URLs, about 30 MB. */
const REMEMBERED = 100_000;

/** Milliseconds. URLs change at full minutes. */
const MINUTE = 60_000;

/**
 * Creates signed URLs, and caches them for their minute. Pages show the same users repeatedly, and a
 * signature costs more than all other work for a photo (docs/adr/0004).
 */
export class SignedUrls {
  /** Cached URLs by kind and size, then by the key of the user. */
  private readonly remembered = new Map<string, Map<number, Remembered>>();
  private count = 0;
  private hits = 0;
  private misses = 0;
  /** The minute of the cached URLs, counted since 1970. */
  private minute = 0;

  constructor(
    private readonly baseUrl: string,
    private readonly key: Buffer,
    private readonly clock: () => number,
  ) {}

  /**
   * Returns the URL of a user's picture, or null when the picture does not exist.
   * @param size in pixels; null: the picture in its original size
   * @throws BadUserInputError for an unsupported size
   */
  find(kind: PictureKind, person: Pictured, size: number | null): string | null {
    if (size !== null && !isPictureSize(size)) {
      throw new BadUserInputError(`The argument size must be one of ${PICTURE_SIZES.join(', ')}`, 'size');
    }
    if (!(kind === 'photo' ? person.hasPhoto : person.hasPicture)) return null;
    const now = this.clock();
    this.forgetLastMinute(now);
    const urls = this.rememberedOf(kind, size);
    const known = urls.get(person.key);
    if (known !== undefined && known.id === person.id) {
      this.hits++;
      return known.url;
    }
    this.misses++;
    const { baseUrl, key } = this;
    const url = signUrl({ baseUrl, kind, id: person.id, size, now: new Date(now), key });
    this.remember(urls, person, url);
    return url;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, count } = this;
    return { hits, misses, entries: count, bytes: null };
  }

  private rememberedOf(kind: PictureKind, size: number | null): Map<number, Remembered> {
    const name = size === null ? kind : `${kind} ${size}`;
    let urls = this.remembered.get(name);
    if (urls === undefined) {
      urls = new Map();
      this.remembered.set(name, urls);
    }
    return urls;
  }

  /** When the cache is full, the existing URLs stay, because they are as likely to be requested again. */
  private remember(urls: Map<number, Remembered>, { key, id }: Pictured, url: string): void {
    if (!urls.has(key)) {
      if (this.count === REMEMBERED) return;
      this.count++;
    }
    urls.set(key, { id, url });
  }

  private forgetLastMinute(now: number): void {
    const minute = Math.ceil(now / MINUTE);
    if (minute === this.minute) return;
    this.remembered.clear();
    this.count = 0;
    this.minute = minute;
  }
}

/** Injection token of the keys of signed URLs. The first one signs, all verify. */
export const SIGNING_KEYS = Symbol('SIGNING_KEYS');
export type SigningKeys = readonly [Buffer, ...Buffer[]];

const NAME = 'url-signing';
/** RFC 2104 §3 discourages keys shorter than the hash, which has 32 bytes. */
const KEY_BYTES = 32;

/**
 * Returns the configured keys, or else the key that the installation generated and stored in the database.
 * @throws Error when the key in the database is invalid
 */
export async function readSigningKeys(
  config: Pick<Config, 'urlSigningKeys'>,
  embeddedKeys: Pick<EmbeddedKeys, 'findOrCreate'>,
): Promise<SigningKeys> {
  const [first, ...others] = config.urlSigningKeys ?? [];
  if (first !== undefined) return [first, ...others];
  const kept = await embeddedKeys.findOrCreate<{ hex?: unknown }>(NAME, () => ({
    hex: randomBytes(KEY_BYTES).toString('hex'),
  }));
  return [parseKey(kept)];
}

function parseKey(kept: { hex?: unknown }): Buffer {
  if (typeof kept.hex !== 'string' || !/^[0-9a-f]{64}$/.test(kept.hex)) {
    throw new Error(
      `The key ${NAME} in the table embedded_keys is damaged. Delete its row and start again: the service then ` +
        'creates a new key, and clients have to request the URLs of photos again',
    );
  }
  return Buffer.from(kept.hex, 'hex');
}
