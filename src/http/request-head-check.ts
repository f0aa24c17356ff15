import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../common/errors.js';
import { findFieldProblem, LONGEST_PARSED_FIELD } from '../common/request-fields.js';
import { StatusError } from '../graphql/errors/rejection.js';

/** Bytes of a request target. Parsers of queries are slow with many parameters, and nothing here needs more. */
const LONGEST_URL = 8192;

/**
 * Looks at what Node lets through and no request may have, whatever it asks for.
 * @returns why it is refused; null: it is not
 */
export function findHeadProblem(request: IncomingMessage): ServiceError | null {
  const { httpVersion, headers, url = '' } = request;
  if (url.length > LONGEST_URL) {
    const message = `The URL is longer than ${LONGEST_URL} bytes: a query is sent by POST then`;
    return new StatusError(414, 'PAYLOAD_TOO_LARGE', message);
  }
  switch (findFieldProblem(request)) {
    case 'repeated':
      return new ServiceError('BAD_REQUEST', 'Host and Content-Type must not be there twice');
    case 'too long': {
      const message = `A header field is longer than ${LONGEST_PARSED_FIELD} bytes`;
      return new StatusError(431, 'PAYLOAD_TOO_LARGE', message);
    }
    default:
  }
  const coding = headers['transfer-encoding'];
  // RFC 9112 §6.1: whoever speaks HTTP/1.0 does not know where such a body ends.
  if (httpVersion === '1.0' && coding !== undefined) {
    return new ServiceError('BAD_REQUEST', 'Transfer-Encoding is not part of HTTP/1.0');
  }
  // Node removes the chunks only, and would pass on the rest as it is.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return new ServiceError('BAD_REQUEST', 'Transfer-Encoding must be chunked');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new StatusError(417, 'BAD_REQUEST', 'Nothing can be expected but 100-continue');
  }
  return null;
}
