import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import pLimit from 'p-limit';
import type sharp from 'sharp';
import type { Sharp } from 'sharp';
import { ServiceUnavailableError } from '../../common/errors.js';
import { loadSharp, PIXEL_LIMIT, recognizeFormat } from './inspect-picture.js';
import { LONGEST_SIDE, type PictureSize } from '../signing/signed-url.js';

type RenderingFormat = 'jpeg' | 'webp' | 'avif';

/** Formats that a client must name, because `*` does not mean that it decodes them. */
const ON_REQUEST = ['avif', 'webp'] as const;

/** Chooses the format by the Accept header (RFC 9110 §12.5.1): JPEG if the client accepts none, which §12.5.1 allows. */
export function chooseFormat(accept = '*/*'): RenderingFormat {
  const named = ON_REQUEST.filter((format) => accept.toLowerCase().includes(`image/${format}`));
  const types = [...named, 'jpeg' as const].map((format) => `image/${format}`);
  const [preferred] = new Negotiator({ headers: { accept } }).mediaTypes(types);
  return named.find((format) => preferred === `image/${format}`) ?? 'jpeg';
}

export interface Rendering {
  readonly sha256: Buffer;
  /** Side of the square in pixels into which the picture fits, never enlarged. Null: at most LONGEST_SIDE. */
  readonly size: PictureSize | null;
  readonly format: RenderingFormat;
}

/** Fetches the picture; called only when a rendering has to be created. */
type Load = () => Promise<Buffer | null>;

/** Bytes of renderings in memory: a few thousand in the sizes that pages show. */
const CACHE_BYTES = 32 * 1024 * 1024;
/** Stands in the cache for all renderings of a picture that cannot be decoded. */
const UNDECODABLE = Buffer.alloc(0);
/** Decoding runs in the pool of 4 threads that DNS, files and cryptography share. Half of it stays free. */
const RENDERINGS_AT_ONCE = 2;
const RENDERINGS_WAITING = 256;

/** Part of the entity tags. It is incremented when LONGEST_SIDE, ENCODERS or the rendering changes. */
const SETTINGS_VERSION = 1;
/** AVIF at effort 0 takes as long as WebP and is a third smaller. At the default of 4 it would take seconds. */
const ENCODERS: Record<RenderingFormat, (image: Sharp) => Sharp> = {
  jpeg: (image) => image.flatten({ background: '#ffffff' }).jpeg({ quality: 82 }),
  webp: (image) => image.webp({ quality: 80, effort: 2 }),
  avif: (image) => image.avif({ quality: 55, effort: 0 }),
};

/** Returns the strong entity tag of a rendering. It includes the encoder version, because others produce other bytes. */
export async function etagOf({ sha256, size, format }: Rendering): Promise<string> {
  const { versions } = await loadSharp();
  const digest = createHash('sha256')
    .update(`${SETTINGS_VERSION} ${versions.sharp} ${size ?? ''} ${format} `)
    .update(sha256)
    .digest('base64url');
  return `"${digest.slice(0, 27)}"`;
}

/** Renders pictures. The renderings contain only pixels, without EXIF data such as location and camera. */
@Injectable()
export class PictureRenderer {
  private readonly logger = new Logger(PictureRenderer.name);
  /** Concurrent calls for one rendering share its creation, also if it is dropped meanwhile. */
  private readonly renderings = new LRUCache<string, Buffer, readonly [Rendering, Load]>({
    maxSize: CACHE_BYTES,
    // An entry has a name, too.
    sizeCalculation: (bytes) => bytes.length + 1000,
    fetchMethod: (_name, _stale, { context }) => this.make(...context),
    ignoreFetchAbort: true,
  });
  private readonly limit = pLimit(RENDERINGS_AT_ONCE);

  /**
   * Returns the bytes of a rendering, or null when the picture no longer exists or cannot be decoded.
   * @throws ServiceUnavailableError when too many renderings are waiting, and any error of `load`
   */
  async find(rendering: Rendering, load: Load): Promise<Buffer | null> {
    const digest = rendering.sha256.toString('hex');
    if (this.renderings.has(digest)) return null;
    const name = `${digest} ${rendering.size ?? ''} ${rendering.format}`;
    return (await this.renderings.fetch(name, { context: [rendering, load] })) ?? null;
  }

  private async make(rendering: Rendering, load: Load): Promise<Buffer | undefined> {
    if (this.limit.pendingCount >= RENDERINGS_WAITING)
      throw new ServiceUnavailableError('Too many pictures are being prepared at the moment');
    return this.limit(async () => {
      const picture = await load();
      if (picture === null) return undefined;
      const library = await loadSharp();
      try {
        return await render(library, picture, rendering);
      } catch {
        const digest = rendering.sha256.toString('hex');
        // The digest is the key in the table of pictures, and names no user.
        if (!this.renderings.has(digest))
          this.logger.warn(`The picture ${digest} cannot be decoded and counts as none`);
        this.renderings.set(digest, UNDECODABLE);
        return undefined;
      }
    });
  }
}

/**
 * Rotates a picture according to EXIF, scales it down and encodes it in sRGB.
 * @throws Error when it cannot be decoded
 */
async function render(library: typeof sharp, picture: Buffer, { size, format }: Rendering): Promise<Buffer> {
  if (recognizeFormat(picture) === null) throw new Error('Not one of the formats that are shown');
  const side = size ?? LONGEST_SIDE;
  // A truncated picture is an error, and harmless irregularities of old cameras are not.
  const image = library(picture, { limitInputPixels: PIXEL_LIMIT, failOn: 'error' })
    .autoOrient()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
  return ENCODERS[format](image).toBuffer();
}
