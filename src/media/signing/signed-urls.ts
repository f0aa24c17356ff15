import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { BadUserInputError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { periodOfUrls } from '../../graphql/cache/response-cache.js';
import { nextPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from './signing-keys.js';

/** Properties of a user that the URLs of pictures depend on. */
interface Pictured {
  readonly id: string;
  /** The level of the user. Null: the user has no photo. */
  readonly photoLevel: number | null;
  readonly pictureLevel: number | null;
}

/** Maximum number of cached URLs, about 30 MB. */
const MAX_URLS = 100_000;

/**
 * Creates signed URLs, and caches them for their period. Pages show the same users repeatedly, and a
 * signature costs more than all other work for a photo (docs/adr/0004).
 */
@Injectable()
export class SignedUrls {
  /** By all that a URL depends on. `max` would allocate memory for all of them at once. */
  private readonly urls = new LRUCache<string, string>({ maxSize: MAX_URLS, sizeCalculation: () => 1 });
  private hits = 0;
  private misses = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(SIGNING_KEYS) private readonly keys: SigningKeys,
  ) {}

  /**
   * Returns the URL of a user's picture, or null when the picture does not exist.
   * @param wanted the smallest size in pixels; null: the picture in its original size
   * @throws BadUserInputError for a size outside of the limits
   */
  find(kind: PictureKind, { id, photoLevel, pictureLevel }: Pictured, wanted: number | null): string | null {
    const size = wanted === null ? null : nextPictureSize(wanted);
    if (size === undefined) {
      const message = `The argument size must be from 1 to ${PICTURE_SIZES.at(-1) ?? ''}`;
      throw new BadUserInputError(message, 'size');
    }
    const level = kind === 'photo' ? photoLevel : pictureLevel;
    if (level === null) return null;
    const now = new Date();
    const isForAudience = level > 0;
    const name = `${periodOfUrls(now)} ${kind} ${size ?? ''} ${isForAudience} ${id}`;
    const known = this.urls.get(name);
    if (known !== undefined) {
      this.hits++;
      return known;
    }
    this.misses++;
    const { baseUrl } = this.config;
    const url = signUrl({ baseUrl, kind, id, size, isForAudience, now, key: this.keys.signing });
    this.urls.set(name, url);
    return url;
  }

  get statistics() {
    const { hits, misses, urls } = this;
    return { hits, misses, entries: urls.size, bytes: null };
  }
}
