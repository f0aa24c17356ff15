import { Inject, Injectable } from '@nestjs/common';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import { BadUserInputError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { periodOfUrls } from '../../graphql/cache/cache-policy.decorator.js';
import { nextPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from './signing-keys.js';

/** Properties of a user that the URLs of pictures depend on. */
interface Pictured {
  /** Primary key. A lookup by number is faster than one by id. */
  readonly key: number;
  readonly id: string;
  /** The level of the user. Null: the user has no photo. */
  readonly photoLevel: number | null;
  readonly pictureLevel: number | null;
}

interface SignedUrl {
  /** In the URL. The id of a user may change; the key does not. */
  readonly id: string;
  readonly url: string;
}

/** Maximum number of cached URLs, about 30 MB. */
const REMEMBERED = 100_000;

/**
 * Creates signed URLs, and caches them for their period. Pages show the same users repeatedly, and a
 * signature costs more than all other work for a photo (docs/adr/0004).
 */
@Injectable()
export class SignedUrls {
  /** Cached URLs by kind, size and audience, and by the key of the user. */
  private readonly remembered = new Map<string, Map<number, SignedUrl>>();
  private count = 0;
  private hits = 0;
  private misses = 0;
  /** The period of the cached URLs. */
  private period = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(SIGNING_KEYS) private readonly keys: SigningKeys,
  ) {}

  /**
   * Returns the URL of a user's picture, or null when the picture does not exist.
   * @param wanted the smallest size in pixels; null: the picture in its original size
   * @throws BadUserInputError for a size outside of the limits
   */
  find(
    kind: PictureKind,
    { key, id, photoLevel, pictureLevel }: Pictured,
    wanted: number | null,
  ): string | null {
    const size = wanted === null ? null : nextPictureSize(wanted);
    if (size === undefined) {
      const message = `The argument size must be from 1 to ${PICTURE_SIZES.at(-1) ?? ''}`;
      throw new BadUserInputError(message, 'size');
    }
    const level = kind === 'photo' ? photoLevel : pictureLevel;
    if (level === null) return null;
    const now = new Date();
    this.forgetLastPeriod(now);
    const isForAudience = level > 0;
    const urls = this.rememberedOf(`${kind} ${size ?? ''} ${isForAudience}`);
    const known = urls.get(key);
    if (known?.id === id) {
      this.hits++;
      return known.url;
    }
    this.misses++;
    const { baseUrl } = this.config;
    const url = signUrl({ baseUrl, kind, id, size, isForAudience, now, key: this.keys.signing });
    // When the cache is full, the existing URLs stay, because they are as likely to be requested again.
    if (known === undefined && this.count === REMEMBERED) return url;
    if (known === undefined) this.count++;
    urls.set(key, { id, url });
    return url;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, count } = this;
    return { hits, misses, entries: count, bytes: null };
  }

  private rememberedOf(name: string): Map<number, SignedUrl> {
    let urls = this.remembered.get(name);
    if (urls === undefined) this.remembered.set(name, (urls = new Map<number, SignedUrl>()));
    return urls;
  }

  private forgetLastPeriod(now: Date): void {
    const period = periodOfUrls(now);
    if (period === this.period) return;
    this.remembered.clear();
    this.count = 0;
    this.period = period;
  }
}
