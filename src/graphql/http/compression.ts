import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import Negotiator from 'negotiator';

export type Coding = 'br' | 'gzip';

/** How a response is compressed: larger bodies than `above` bytes. */
export interface Compression {
  readonly coding: Coding;
  readonly above: number;
}

/** Bytes of a body that is worth compressing. */
const LARGE_ENOUGH = 1000;
/** Larger bodies are compressed by the thread pool, which takes longer, and does not hold up other requests. */
const MAX_SYNCHRONOUS_BYTES = 100_000;

/** The fastest of each coding: others save 5 to 10 % of the bytes, for twice the time (docs/adr/0017). */
const GZIP = { level: 1 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

const compressors = {
  gzip: {
    now: (body: Buffer | string) => gzipSync(body, GZIP),
    later: async (body: Buffer | string) => promisify(gzip)(body, GZIP),
  },
  br: {
    now: (body: Buffer | string) => brotliCompressSync(body, BROTLI),
    later: async (body: Buffer | string) => promisify(brotliCompress)(body, BROTLI),
  },
};

/** What Accept-Encoding allows and prefers (RFC 9110 §12.5.3); null: no compression. */
export function compressionFor(request: Pick<IncomingMessage, 'headers'>): Compression | null {
  const [coding, ...others] = new Negotiator(request).encodings(['br', 'gzip', 'identity']);
  if (coding !== 'br' && coding !== 'gzip') return null;
  return { coding, above: others.includes('identity') ? LARGE_ENOUGH : 0 };
}

/** The parts of a response that change. */
interface WithBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** The response with its body compressed, if the body is large enough. */
export function compressed<Response extends WithBody>(
  response: Response,
  { coding, above }: Compression,
): Response | Promise<Response> {
  const bytes = Buffer.byteLength(response.body);
  if (bytes <= above) return response;
  const { now, later } = compressors[coding];
  const use = (smaller: Buffer) => withBody(response, coding, smaller);
  return bytes > MAX_SYNCHRONOUS_BYTES ? later(response.body).then(use) : use(now(response.body));
}

function withBody<Response extends WithBody>(response: Response, coding: Coding, body: Buffer): Response {
  return { ...response, headers: { ...response.headers, 'content-encoding': coding }, body };
}
