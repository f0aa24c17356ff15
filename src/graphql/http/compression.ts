import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';

export type Coding = 'br' | 'gzip';

/** Bytes of a body that is worth compressing. */
const LARGE_ENOUGH = 1000;

/**
 * In the thread pool, which does not hold up other requests. The fastest of each coding: others save 5 to 10 % of the bytes, for
 * twice the time (docs/adr/0017).
 */
const compressors = {
  gzip: async (body: string | Buffer) => promisify(gzip)(body, { level: 1 }),
  br: async (body: string | Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

/** What Accept-Encoding prefers (RFC 9110 §12.5.3); null: no compression. */
export function codingFor(request: Pick<IncomingMessage, 'headers'>): Coding | null {
  const [coding] = new Negotiator(request).encodings(['br', 'gzip', 'identity']);
  return coding === 'br' || coding === 'gzip' ? coding : null;
}

/** The body, compressed if it is large enough. */
export async function compressed(
  body: string | Buffer,
  coding: Coding | null,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly body: string | Buffer }> {
  if (coding === null || Buffer.byteLength(body) <= LARGE_ENOUGH) return { headers: {}, body };
  return { headers: { 'content-encoding': coding }, body: await compressors[coding](body) };
}
