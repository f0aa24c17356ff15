import { createHmac, timingSafeEqual } from 'node:crypto';
import { periodOfUrls, URL_PERIOD_MS } from '../../graphql/cache/response-cache.js';

/** The two pictures of a user: the official photo of the directory, and the picture that the user chose. */
export const PICTURE_KINDS = ['photo', 'picture'] as const;
export type PictureKind = (typeof PICTURE_KINDS)[number];

/** Supported sizes: the side of the square in pixels into which a picture fits. */
export const PICTURE_SIZES = [64, 128, 256, 512] as const;
export type PictureSize = (typeof PICTURE_SIZES)[number];
/** Maximum side in pixels without a size. Encoders have limits, and no page shows a larger portrait. */
export const LONGEST_SIDE = 2048;

/** Minimum lifetime of a URL in seconds. */
const LIFETIME_SECONDS = 3600;
const PERIOD_SECONDS = URL_PERIOD_MS / 1000;
/** The largest difference of two clocks in seconds. A URL of one that is further ahead is expired, and not valid for days. */
const CLOCK_TOLERANCE = 86_400;

export interface SignedPicture {
  readonly kind: PictureKind;
  readonly id: string;
  /** Null: the size of the picture, at most LONGEST_SIDE. */
  readonly size: PictureSize | null;
  /** Whether it was given to someone who sees the user by the rules of visibility, when others did not. The URL does not show it. */
  readonly isForAudience: boolean;
  /** Unix time in seconds from which the URL is no longer valid. */
  readonly expires: number;
}

/** Malformed: a parameter is missing. Expired: correctly signed, but too old, or valid for longer than a URL can be. */
type Verification =
  ({ readonly outcome: 'valid' } & SignedPicture) | { readonly outcome: 'malformed' | 'invalid' | 'expired' };

/** The smallest size that is at least as large. Undefined: the size is not from 1 to the largest size. */
export function nextPictureSize(size: number): PictureSize | undefined {
  return size < 1 ? undefined : PICTURE_SIZES.find((each) => each >= size);
}

/** Unix time in seconds at which URLs signed now expire: all clients receive the same URL within a period. */
export function expiryOf(now: Date): number {
  return periodOfUrls(now) * PERIOD_SECONDS + LIFETIME_SECONDS;
}

/** The base URL is not signed, because a proxy may serve the service under another name. */
export function signUrl(
  request: Pick<SignedPicture, 'kind' | 'id' | 'size'> &
    Partial<SignedPicture> & { readonly baseUrl: string; readonly now: Date; readonly key: Buffer },
): string {
  const { baseUrl, kind, id, size, isForAudience = false, now, key } = request;
  const path = pathOf(kind, id);
  const expires = expiryOf(now);
  const signature = authenticate(messageOf(path, expires, size, isForAudience), key).toString('hex');
  return `${baseUrl}${path}?expires=${expires}&signature=${signature}${size === null ? '' : `&size=${size}`}`;
}

/** The only accepted forms of the parameters, so that every changed character of a URL makes it invalid. */
const FORMS = new Map([
  ['expires', /^[1-9]\d{0,11}$/],
  ['signature', /^[0-9a-f]{64}$/],
  ['size', new RegExp(`^(?:${PICTURE_SIZES.join('|')})$`)],
]);

/**
 * Verifies a signed URL. Before the signature is verified, the result does not depend on the expiry. What is percent-encoded
 * without need is the same URL (RFC 3986 §6.2.2). Parameters with other names are ignored: mail programs and analytics add them.
 * @param target path and query, percent-encoding included, without the path of the base URL
 * @param keys keys of which any may have signed
 */
export function verifyUrl(target: string, keys: readonly Buffer[], now: Date): Verification {
  const [path, query] = cut(target, '?');
  const all = query.split('&').map((pair) => cut(pair, '=').map(decode) as [string, string]);
  const pairs = all.filter(([name]) => FORMS.has(name.toLowerCase()));
  const parameters = new Map(pairs);
  const expires = parameters.get('expires');
  const signature = parameters.get('signature');
  if (expires === undefined || signature === undefined) return { outcome: 'malformed' };

  const subject = readPath(path);
  const wellFormed = pairs.every(([name, value]) => FORMS.get(name)?.test(value) === true);
  if (subject === null || !wellFormed || parameters.size < pairs.length) return { outcome: 'invalid' };

  const size = parameters.has('size') ? (Number(parameters.get('size')) as PictureSize) : null;
  const given = Buffer.from(signature, 'hex');
  const [isForAll, isForAudience] = [false, true].map((each) => {
    const message = messageOf(pathOf(subject.kind, subject.id), Number(expires), size, each);
    return keys.map((key) => timingSafeEqual(authenticate(message, key), given)).includes(true);
  });
  if (isForAll !== true && isForAudience !== true) return { outcome: 'invalid' };
  // A clock that was ahead when it signed must not prolong the URL.
  const left = Number(expires) - now.getTime() / 1000;
  if (left <= 0 || left > LIFETIME_SECONDS + PERIOD_SECONDS + CLOCK_TOLERANCE) return { outcome: 'expired' };
  return {
    outcome: 'valid',
    ...subject,
    size,
    isForAudience: isForAudience === true,
    expires: Number(expires),
  };
}

/**
 * What is signed: version, kind, id, expiry, size and whether it is for an audience. The first three form the path, which is
 * percent-encoded and hence contains no line feed, so that no two pictures share a message.
 */
function messageOf(path: string, expires: number, size: PictureSize | null, isForAudience: boolean): string {
  return `${path}\n${expires}\n${size ?? ''}${isForAudience ? '\naudience' : ''}`;
}

/** Computes HMAC-SHA-256 (RFC 2104). */
function authenticate(message: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(message).digest();
}

/** Returns the path of a picture. Of all percent-encodings of an id, this one is signed. */
function pathOf(kind: PictureKind, id: string): string {
  return `/${kind}/v1/${encodeURIComponent(id.toWellFormed())}`;
}

function readPath(path: string): { kind: PictureKind; id: string } | null {
  const [, kind, id] = /^\/(photo|picture)\/v1\/(.+)$/s.exec(decode(path)) ?? [];
  return kind === undefined || id === undefined ? null : { kind: kind as PictureKind, id };
}

/** Empty for what is not valid percent-encoded UTF-8, which no part of a signed URL is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Returns the text before the first separator and the text after it. */
function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
