import type sharp from 'sharp';

type SourceFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'avif';

type Inspection =
  { readonly ok: true; readonly format: SourceFormat } | { readonly ok: false; readonly reason: string };

/** npm installs the decoder as an optional dependency of its package. */
const WITHOUT_DECODER =
  'cannot be decoded without all of the package sharp: run npm install --include=optional';

/** Above common cameras. A picture of a few kilobytes can decode to gigabytes. */
export const PIXEL_LIMIT = 25_000_000;

/**
 * Inspects the head of a picture. A truncated picture is detected only when it is rendered.
 * @returns the reason as the end of a sentence that begins with the attribute: «… is not a picture …»
 */
export async function inspectPicture(bytes: Uint8Array): Promise<Inspection> {
  const format = recognizeFormat(bytes);
  if (format === null) return { ok: false, reason: 'is not a picture in JPEG, PNG, GIF, WebP or AVIF' };
  const sharp = await loadSharp().catch(() => null);
  if (sharp === null) return { ok: false, reason: WITHOUT_DECODER };
  try {
    const { width, height, compression } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (width * height > PIXEL_LIMIT)
      return { ok: false, reason: `has ${width} × ${height} pixels, more than ${PIXEL_LIMIT}` };
    if (format === 'avif' && compression !== 'av1')
      return { ok: false, reason: 'is a HEIF picture in another encoding than AVIF' };
    return { ok: true, format };
  } catch {
    // The message of the decoder does not help an administrator of a directory.
    return { ok: false, reason: `begins like ${format.toUpperCase()} but cannot be decoded` };
  }
}

/** The decoder would accept more formats, including SVG and PDF, whose parsers must not receive these bytes. */
export function recognizeFormat(bytes: Uint8Array): SourceFormat | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 12)).toString('latin1');
  return FORMATS.find(({ begins }) => begins.test(head))?.format ?? null;
}

const FORMATS: { format: SourceFormat; begins: RegExp }[] = [
  { format: 'jpeg', begins: /^\xff\xd8\xff/ },
  { format: 'png', begins: /^\x89PNG\r\n/ },
  { format: 'gif', begins: /^GIF8[79]a/ },
  { format: 'webp', begins: /^RIFF[^]{4}WEBP/ },
  { format: 'avif', begins: /^[^]{4}ftyp(?:avif|avis|mif1)/ },
];

let loading: Promise<typeof sharp> | undefined;

/** The library takes 20 MB, so only the first picture loads it. */
export function loadSharp(): Promise<typeof sharp> {
  return (loading ??= import('sharp').then(({ default: library }) => {
    // One thread per rendering. The operation cache is off, because no two renderings have the same input.
    library.concurrency(1);
    library.cache(false);
    return library;
  }));
}
