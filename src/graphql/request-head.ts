import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../common/errors.js';
import { parseUrl } from '../common/url.js';
import { responseType, StatusError } from './refusal.js';

/** Bytes of a request target: larger questions are sent by POST. */
const LONGEST_URL = 8192;
/** Bytes of all header fields together. */
const LARGEST_HEADERS = 16_384;

/**
 * Refuses whatever can be refused without reading a body.
 * @throws ServiceError, with the status that the table of docs/http.md gives
 */
export function refuseByHead(request: FastifyRequest): void {
  const { method, url, headers, raw } = request;
  if (method !== 'GET' && method !== 'POST') {
    throw new ServiceError('METHOD_NOT_ALLOWED', 'The endpoint answers GET and POST');
  }
  if (url.length > LONGEST_URL) {
    const message = `The URL is longer than ${LONGEST_URL} bytes: send the query by POST`;
    throw new StatusError(414, 'PAYLOAD_TOO_LARGE', message);
  }
  if (raw.rawHeaders.reduce((bytes, text) => bytes + text.length + 2, 0) > LARGEST_HEADERS) {
    throw new StatusError(431, 'PAYLOAD_TOO_LARGE', `The headers are larger than ${LARGEST_HEADERS} bytes`);
  }
  if (!hasHost(request)) throw new ServiceError('BAD_REQUEST', 'The Host header is missing or malformed');
  if (method === 'POST') refuseByBodyFields(headers);
  if (responseType(request) === undefined) {
    throw new ServiceError(
      'NOT_ACCEPTABLE',
      'The answer is application/json or application/graphql-response+json: Accept has to allow one',
    );
  }
}

/** RFC 9112 §3.2: a request without a valid Host is answered with 400. */
function hasHost({ headers: { host } }: FastifyRequest): boolean {
  return host !== undefined && parseUrl(`http://${host}/`) !== null;
}

function refuseByBodyFields(headers: FastifyRequest['headers']): void {
  if (!isJson(headers['content-type'])) {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: Content-Type: application/json, in UTF-8',
    );
  }
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be sent as it is, without Content-Encoding',
    );
  }
}

/** RFC 9110 §8.3.1; JSON is UTF-8 where no charset is named (RFC 8259 §8.1), and no other is spoken here. */
function isJson(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => !/^charset\s*=/.test(parameter) || /^charset="?utf-?8"?$/.test(parameter))
  );
}
