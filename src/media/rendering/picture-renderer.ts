import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import sharp, { type Sharp } from 'sharp';
import { PIXEL_LIMIT, recognise } from './inspect-picture.js';
import type { RenderingFormat } from './rendering-format.js';
import type { PictureSize } from '../signing/signed-url.js';
import { Turnstile } from './turnstile.js';

/** One picture of the directory in one size and one format. */
export interface Rendering {
  /** Digest of the picture as the directory has it. */
  readonly sha256: Buffer;
  /** The picture fits into a square of so many pixels, uncropped and never enlarged. Null: its own size. */
  readonly size: PictureSize | null;
  readonly format: RenderingFormat;
}

/** Pixels: also without a size no side is longer. Encoders have limits, and nobody shows a face larger. */
const LONGEST_SIDE = 2048;
/** Bytes of renderings kept in memory: a few thousand in the sizes that pages show. */
const CACHE_BYTES = 32 * 1024 * 1024;
/** Undecodable pictures that are remembered, so that they cost nothing and are logged once. */
const UNDECODABLE = 1000;
/** Decoding runs in the thread pool of 4 that DNS, files and cryptography share: half of it stays theirs. */
const RENDERINGS_AT_ONCE = 2;
const RENDERINGS_WAITING = 256;

/** To be changed with any setting below: it is in the entity tags. */
const SETTINGS_VERSION = 1;
/**
 * Effort: AVIF at 0 takes as long as WebP and a third less room; at the default of 4 a large picture would hold
 * a thread for seconds.
 */
const ENCODERS: Record<RenderingFormat, (image: Sharp) => Sharp> = {
  jpeg: (image) => image.flatten({ background: '#ffffff' }).jpeg({ quality: 82 }),
  webp: (image) => image.webp({ quality: 80, effort: 2 }),
  avif: (image) => image.avif({ quality: 55, effort: 0 }),
};

/** The strong entity tag of a rendering, known without making it. Other versions of the encoders, other bytes. */
export function etagOf({ sha256, size, format }: Rendering): string {
  const digest = createHash('sha256')
    .update(`${SETTINGS_VERSION} ${sharp.versions.sharp} ${size ?? ''} ${format} `)
    .update(sha256)
    .digest('base64url');
  return `"${digest.slice(0, 27)}"`;
}

/** Makes the pictures that are sent out. They carry nothing but pixels: no EXIF, no place, no camera. */
@Injectable()
export class PictureRenderer {
  private readonly logger = new Logger(PictureRenderer.name);
  private readonly renderings = new LRUCache<string, Buffer>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (bytes) => bytes.length,
  });
  private readonly underWay = new Map<string, Promise<Buffer | null>>();
  private readonly undecodable = new LRUCache<string, true>({ max: UNDECODABLE });
  private readonly turnstile = new Turnstile(RENDERINGS_AT_ONCE, RENDERINGS_WAITING);

  constructor() {
    // One thread a rendering, and no cache of operations: no two of them have the same input.
    sharp.concurrency(1);
    sharp.cache(false);
  }

  /**
   * The bytes of a rendering, or null when the picture is gone or cannot be decoded. Whoever asks for a
   * rendering that is being made waits for that one.
   * @param load fetches the picture; only called when the rendering has to be made
   * @throws ServiceUnavailableError when too many renderings are waiting, and whatever `load` throws
   */
  async find(rendering: Rendering, load: () => Promise<Buffer | null>): Promise<Buffer | null> {
    const digest = rendering.sha256.toString('hex');
    if (this.undecodable.has(digest)) return null;
    const name = `${digest} ${rendering.size ?? ''} ${rendering.format}`;
    const known = this.renderings.get(name);
    if (known !== undefined) return known;
    let making = this.underWay.get(name);
    if (making === undefined) {
      making = this.make(rendering, digest, name, load).finally(() => this.underWay.delete(name));
      this.underWay.set(name, making);
    }
    return making;
  }

  private async make(
    rendering: Rendering,
    digest: string,
    name: string,
    load: () => Promise<Buffer | null>,
  ): Promise<Buffer | null> {
    return this.turnstile.pass(async () => {
      const picture = await load();
      if (picture === null) return null;
      try {
        const bytes = await render(picture, rendering);
        this.renderings.set(name, bytes);
        return bytes;
      } catch {
        this.reportOnce(digest);
        return null;
      }
    });
  }

  /** Names the picture by its digest, which is its key in the table of pictures, and not by a person. */
  private reportOnce(digest: string): void {
    if (this.undecodable.has(digest)) return;
    this.undecodable.set(digest, true);
    this.logger.warn(`The picture ${digest} cannot be decoded and counts as none`);
  }
}

/**
 * Turns a picture as EXIF says, scales it down and encodes it in sRGB.
 * @throws Error when it cannot be decoded
 */
async function render(picture: Buffer, { size, format }: Rendering): Promise<Buffer> {
  if (recognise(picture) === null) throw new Error('Not one of the formats that are shown');
  const side = size ?? LONGEST_SIDE;
  // A broken-off picture is an error; one with harmless oddities, of which old cameras have many, is not.
  const image = sharp(picture, { limitInputPixels: PIXEL_LIMIT, failOn: 'error' })
    .autoOrient()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
  return ENCODERS[format](image).toBuffer();
}
