import type { CacheStatistics } from '../common/cache-statistics.js';
import { BadUserInputError } from '../common/errors.js';
import { isPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';

/** What has to be known of a person to give out the URLs of their pictures. */
export interface Pictured {
  readonly id: string;
  readonly hasPhoto: boolean;
  readonly hasPicture: boolean;
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
  /** By kind and size, then by person. */
  private readonly remembered = new Map<string, Map<string, string>>();
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
    let url = urls.get(person.id);
    if (url !== undefined) this.hits++;
    else {
      this.misses++;
      const { baseUrl, key } = this;
      url = signUrl({ baseUrl, kind, id: person.id, size, now: new Date(now), key });
      this.remember(urls, person.id, url);
    }
    return url;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, count } = this;
    return { hits, misses, entries: count, bytes: null };
  }

  private rememberedOf(kind: PictureKind, size: number | null): Map<string, string> {
    const name = size === null ? kind : `${kind} ${size}`;
    let urls = this.remembered.get(name);
    if (urls === undefined) {
      urls = new Map();
      this.remembered.set(name, urls);
    }
    return urls;
  }

  /** Where there is no more room, those that were asked for first stay: they are as likely to be asked for again. */
  private remember(urls: Map<string, string>, id: string, url: string): void {
    if (this.count === REMEMBERED) return;
    urls.set(id, url);
    this.count++;
  }

  private forgetLastMinute(now: number): void {
    const minute = Math.ceil(now / MINUTE);
    if (minute === this.minute) return;
    this.remembered.clear();
    this.count = 0;
    this.minute = minute;
  }
}
