import { BadUserInputError } from '../common/errors.js';
import { expiryOf, isPictureSize, PICTURE_SIZES, type PictureKind, signUrl } from './signed-url.js';

/** What has to be known of a person to give out the URLs of their pictures. */
export interface Pictured {
  readonly id: string;
  readonly hasPhoto: boolean;
  readonly hasPicture: boolean;
}

/** URLs remembered at most, about 10 MB of them. */
const REMEMBERED = 30_000;

/**
 * Gives out signed URLs, and remembers them while their minute lasts: a page shows the same people again and
 * again, and a signature costs more than everything else about a photo (docs/adr/0004).
 */
export class SignedUrls {
  private readonly remembered = new Map<string, string>();
  private expires = 0;

  constructor(
    private readonly baseUrl: string,
    private readonly key: Buffer,
    private readonly clock: () => Date,
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
    const name = `${kind} ${size ?? ''} ${person.id}`;
    let url = this.remembered.get(name);
    if (url === undefined) {
      url = signUrl({ baseUrl: this.baseUrl, kind, id: person.id, size, now, key: this.key });
      this.remembered.set(name, url);
    }
    return url;
  }

  /** Also begins anew when full: which URLs are asked for again is not worth keeping a list of. */
  private forgetLastMinute(now: Date): void {
    const expires = expiryOf(now);
    if (expires === this.expires && this.remembered.size < REMEMBERED) return;
    this.remembered.clear();
    this.expires = expires;
  }
}
