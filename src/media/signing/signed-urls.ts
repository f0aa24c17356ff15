import type { CacheStatistics } from '../../common/cache-statistics.js';
import { BadUserInputError } from '../../common/errors.js';
import { isPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';

/** What has to be known of a person to give out the URLs of their pictures. */
export interface Pictured {
  /** Primary key: a number is found again sooner than an id. */
  readonly key: number;
  readonly id: string;
  readonly hasPhoto: boolean;
  readonly hasPicture: boolean;
}

interface Remembered {
  /** Whose URL it is: a person may get another id, and keeps the key. */
  readonly id: string;
  readonly url: string;
}

/** URLs remembered at most, about 30 MB of them. */
const REMEMBERED = 100_000;

/** Milliseconds: URLs change at full minutes. */
const MINUTE = 60_000;

/**
 * Gives out signed URLs, and remembers them while their minute lasts: a page shows the same people again and
 * again, and a signature costs more than everything else about a photo (docs/adr/0004).
 */
export class SignedUrls {
  /** By kind and size, then by the key of the person. */
  private readonly remembered = new Map<string, Map<number, Remembered>>();
  private count = 0;
  private hits = 0;
  private misses = 0;
  /** The minute that they are for, since 1970. */
  private minute = 0;

  constructor(
    private readonly baseUrl: string,
    private readonly key: Buffer,
    private readonly clock: () => number,
  ) {}

  /**
   * The URL of a person's picture, or null when there is none.
   * @param size in pixels; null: the picture in its own size
   * @throws BadUserInputError for a size that is not offered
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

  /** Where there is no more room, those that were asked for first stay: they are as likely to be asked for again. */
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
