import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../common/errors.js';
import { findFieldProblem, LONGEST_PARSED_FIELD } from '../common/request-fields.js';
import { StatusError } from '../graphql/refusal.js';

/**
 * Looks at what Node lets through and no request may have, whatever it asks for.
 * @returns why it is refused; null: it is not
 */
export function findHeadProblem(request: IncomingMessage): ServiceError | null {
  const { httpVersion, headers } = request;
  switch (findFieldProblem(request)) {
    case 'repeated':
      return new ServiceError('BAD_REQUEST', 'Host and Content-Type must not be there twice');
    case 'too long': {
      const message = `A header field is longer than ${LONGEST_PARSED_FIELD} bytes`;
      return new StatusError(431, 'PAYLOAD_TOO_LARGE', message);
    }
    default:
  }
  // RFC 9112 §6.1: whoever speaks HTTP/1.0 does not know where such a body ends.
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) {
    return new ServiceError('BAD_REQUEST', 'Transfer-Encoding is not part of HTTP/1.0');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new StatusError(417, 'BAD_REQUEST', 'Nothing can be expected but 100-continue');
  }
  return null;
}
