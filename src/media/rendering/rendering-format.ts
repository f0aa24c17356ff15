export type RenderingFormat = 'jpeg' | 'webp' | 'avif';

/** Formats that a client must name explicitly. The first is preferred at equal quality values. */
const ON_REQUEST = ['avif', 'webp'] as const;

/**
 * Chooses the format by the Accept header (RFC 9110 §12.5.1). AVIF and WebP must be named with at least the quality value of
 * JPEG, because `*` does not mean that a client decodes them. All other clients receive JPEG, which §12.5.1 allows.
 */
export function chooseFormat(accept: string | undefined): RenderingFormat {
  const qualities = parseAccept(accept ?? '*/*');
  const jpeg = qualities.get('image/jpeg') ?? qualities.get('image/*') ?? qualities.get('*/*') ?? 0;
  let chosen: RenderingFormat = 'jpeg';
  let best = jpeg;
  for (const format of ON_REQUEST) {
    const quality = qualities.get(`image/${format}`) ?? 0;
    if (quality > best || (quality === best && quality > 0 && chosen === 'jpeg')) {
      chosen = format;
      best = quality;
    }
  }
  return chosen;
}

/** Parses media ranges and their weights from 0 to 1. A range with an invalid weight is left out. */
function parseAccept(accept: string): Map<string, number> {
  const qualities = new Map<string, number>();
  for (const member of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = member.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    if (/^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight)) qualities.set(range, Number(weight));
  }
  return qualities;
}
