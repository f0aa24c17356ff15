import type { IncomingMessage } from 'node:http';
import { findFieldProblem, LONGEST_PARSED_FIELD } from '../common/request-fields.js';
import { RejectionError } from './rejection.js';

/** The largest request target. Parsers of query strings are slow with many parameters. */
const MAX_URL_BYTES = 8192;

/** Checks what Node accepts and no request may contain. Returns null if the head is correct. */
export function findHeadProblem(request: IncomingMessage): RejectionError | null {
  const { httpVersion, headers, url = '' } = request;
  if (url.length > MAX_URL_BYTES) {
    const message = `The URL is longer than ${MAX_URL_BYTES} bytes: send the query by POST`;
    return new RejectionError(414, 'PAYLOAD_TOO_LARGE', message);
  }
  switch (findFieldProblem(request)) {
    case 'repeated':
      return new RejectionError(400, 'BAD_REQUEST', 'Host and Content-Type must not be repeated');
    case 'too long': {
      const message = `A header field is longer than ${LONGEST_PARSED_FIELD} bytes`;
      return new RejectionError(431, 'PAYLOAD_TOO_LARGE', message);
    }
    default:
  }
  // RFC 9112 §6.1: HTTP/1.0 does not define where such a body ends.
  const coding = headers['transfer-encoding'];
  if (httpVersion === '1.0' && coding !== undefined) {
    return new RejectionError(400, 'BAD_REQUEST', 'Transfer-Encoding is not part of HTTP/1.0');
  }
  // Node removes the chunks only, and would pass on other codings unchanged.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return new RejectionError(400, 'BAD_REQUEST', 'Transfer-Encoding must be chunked');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new RejectionError(417, 'BAD_REQUEST', 'The only supported expectation is 100-continue');
  }
  return null;
}
