import type { CacheStatistics } from '../../common/cache-statistics.js';
import { BadUserInputError } from '../../common/errors.js';
import { periodOfUrls } from '../../graphql/cache/cache-policy.decorator.js';
import { nextPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';

/** Properties of a user that the URLs of pictures depend on. */
interface Pictured {
  /** Primary key. A lookup by number is faster than one by id. */
  readonly key: number;
  readonly id: string;
  /** The level of the user. Null: the user has no photo. */
  readonly photoLevel: number | null;
  readonly pictureLevel: number | null;
}

interface Remembered {
  /** Id of the user in the URL. The id of a user may change; the key does not. */
  readonly id: string;
  readonly url: string;
}

/** Maximum number of cached URLs, about 30 MB. */
const REMEMBERED = 100_000;

/**
 * Creates signed URLs, and caches them for their period. Pages show the same users repeatedly, and a
 * signature costs more than all other work for a photo (docs/adr/0004).
 */
export class SignedUrls {
  /** Cached URLs by kind and size. */
  private readonly remembered = new Map<string, UrlTable>();
  private count = 0;
  private hits = 0;
  private misses = 0;
  /** The period of the cached URLs. */
  private period = 0;

  constructor(
    private readonly baseUrl: string,
    private readonly key: () => Buffer,
    private readonly clock: () => number,
  ) {}

  /**
   * Returns the URL of a user's picture, or null when the picture does not exist.
   * @param wanted the smallest size in pixels; null: the picture in its original size
   * @throws BadUserInputError for a size outside of the limits
   */
  find(kind: PictureKind, person: Pictured, wanted: number | null): string | null {
    const size = wanted === null ? null : nextPictureSize(wanted);
    if (size === undefined) {
      throw new BadUserInputError(
        `The argument size must be from 1 to ${PICTURE_SIZES.at(-1) ?? ''}`,
        'size',
      );
    }
    const level = kind === 'photo' ? person.photoLevel : person.pictureLevel;
    if (level === null) return null;
    const now = this.clock();
    this.forgetLastPeriod(now);
    const isForAudience = level > 0;
    const urls = this.rememberedOf(kind, size, isForAudience);
    const known = urls.find(person.key);
    if (known?.id === person.id) {
      this.hits++;
      return known.url;
    }
    this.misses++;
    const { baseUrl } = this;
    const url = signUrl({
      baseUrl,
      kind,
      id: person.id,
      size,
      isForAudience,
      now: new Date(now),
      key: this.key(),
    });
    this.remember(urls, person, url);
    return url;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, count } = this;
    return { hits, misses, entries: count, bytes: null };
  }

  private rememberedOf(kind: PictureKind, size: number | null, isForAudience: boolean): UrlTable {
    const sized = size === null ? kind : `${kind} ${size}`;
    const name = isForAudience ? `${sized} audience` : sized;
    let urls = this.remembered.get(name);
    if (urls === undefined) {
      urls = new UrlTable();
      this.remembered.set(name, urls);
    }
    return urls;
  }

  /** When the cache is full, the existing URLs stay, because they are as likely to be requested again. */
  private remember(urls: UrlTable, { key, id }: Pictured, url: string): void {
    if (urls.find(key) === undefined) {
      if (this.count === REMEMBERED) return;
      this.count++;
    }
    urls.set(key, { id, url });
  }

  private forgetLastPeriod(now: number): void {
    const period = periodOfUrls(new Date(now));
    if (period === this.period) return;
    this.remembered.clear();
    this.count = 0;
    this.period = period;
  }
}

/** Users of one part of a table, a power of two. */
const PART = 1024;

/** URLs by the key of the user: an array, because finding fifty of them in a map took a thirtieth of a page. In parts, because keys have gaps. */
class UrlTable {
  private readonly parts: (Remembered | undefined)[][] = [];

  find(key: number): Remembered | undefined {
    return this.parts[Math.floor(key / PART)]?.[key % PART];
  }

  set(key: number, remembered: Remembered): void {
    const part = (this.parts[Math.floor(key / PART)] ??= new Array<Remembered | undefined>(PART));
    part[key % PART] = remembered;
  }
}
