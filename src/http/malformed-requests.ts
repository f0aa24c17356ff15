import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LONGEST_PARSED_FIELD } from './headers.js';
import { RejectionError } from './rejection.js';

/** The largest request target. Parsers of query strings are slow with many parameters. */
const MAX_URL_BYTES = 8192;
/** The beginnings of the header fields that this service or its libraries parse. */
const PARSED =
  /^(accept|access-control-|cache-|connection|content-|expect|forwarded|host|if-|origin|range|te$|trace|transfer-|upgrade|x-forwarded-|x-request-id)/;

/** Checks what Node accepts and no request may contain. Returns null if the head is correct. */
export function findHeadProblem(request: IncomingMessage): RejectionError | null {
  const { httpVersion, headers, url = '' } = request;
  if (url.length > MAX_URL_BYTES) {
    const message = `The URL is longer than ${MAX_URL_BYTES} bytes: send the query by POST`;
    return new RejectionError(414, 'PAYLOAD_TOO_LARGE', message);
  }
  if (hasLongField(headers)) {
    const message = `A header field is longer than ${LONGEST_PARSED_FIELD} bytes`;
    return new RejectionError(431, 'PAYLOAD_TOO_LARGE', message);
  }
  // Node joins two of them, of which a proxy in front may keep either (RFC 9112 §3.2, RFC 9110 §5.3).
  if (headers.host?.includes(',') === true || headers['content-type']?.includes(',') === true)
    return new RejectionError(400, 'BAD_REQUEST', 'Host and Content-Type must not be repeated');
  // Node passes on other codings unchanged, and HTTP/1.0 does not define where such a body ends (RFC 9112 §6.1).
  const coding = headers['transfer-encoding']?.toLowerCase() ?? 'none';
  if (coding !== 'none' && (coding !== 'chunked' || httpVersion === '1.0'))
    return new RejectionError(400, 'BAD_REQUEST', 'Transfer-Encoding must be chunked, and HTTP/1.1');
  return null;
}

function hasLongField(headers: IncomingMessage['headers']): boolean {
  for (const name in headers)
    if ((headers[name]?.length ?? 0) > LONGEST_PARSED_FIELD && PARSED.test(name)) return true;
  return false;
}

const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Returns the id of a request: the one of its client if it is safe in a log, otherwise a new one. */
export function chooseRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}
