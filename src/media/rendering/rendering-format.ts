/** What a picture can be sent as. */
export type RenderingFormat = 'jpeg' | 'webp' | 'avif';

/** The formats that must be asked for by name, the smaller first: it wins where Accept likes both equally. */
const ON_REQUEST = ['avif', 'webp'] as const;

/**
 * Chooses the format by the Accept header (RFC 9110 section 12.5.1). AVIF and WebP are sent to those who name
 * them and like them at least as much as JPEG; ranges like `*` say too little about what a client can show.
 * Everybody else gets JPEG, also when Accept does not list it: section 12.5.1 allows to disregard the header, and
 * a picture helps more than a refusal.
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

/** Media ranges and their weights from 0 to 1. A range whose weight is none is left out. */
function parseAccept(accept: string): Map<string, number> {
  const qualities = new Map<string, number>();
  for (const member of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = member.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    if (/^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight)) qualities.set(range, Number(weight));
  }
  return qualities;
}
