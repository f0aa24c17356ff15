import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { findFieldProblem } from '../../common/request-fields.js';
import { parseUrl } from '../../common/url.js';
import { responseType, StatusError } from '../errors/rejection.js';

/** Bytes of all header fields together. */
const LARGEST_HEADERS = 16_384;

/** Heads that are known to be good, with the media type of their answers: clients send the same again and again. */
const good = new LRUCache<string, string>({ max: 1000 });
/** Characters up to which a head is worth keeping. */
const LONGEST_KEPT = 500;
/** In the place of a field that is missing: no field has such a value. */
const NONE = '\0';

/**
 * Refuses whatever can be refused without reading a body.
 * @returns the media type of the answer
 * @throws ServiceError, with the status that the table of docs/http.md gives
 */
export function readHead(request: FastifyRequest): string {
  const { method, raw } = request;
  if (method !== 'GET' && method !== 'POST') {
    throw new ServiceError('METHOD_NOT_ALLOWED', 'The endpoint answers GET and POST');
  }
  if (sizeOf(raw.rawHeaders) > LARGEST_HEADERS) {
    throw new StatusError(431, 'PAYLOAD_TOO_LARGE', `The headers are larger than ${LARGEST_HEADERS} bytes`);
  }
  const key = keyOf(raw);
  let mediaType = good.get(key);
  if (mediaType === undefined) {
    mediaType = decideHead(request);
    if (key.length <= LONGEST_KEPT) good.set(key, mediaType);
  }
  return mediaType;
}

/** The same for a request whose head is known to be good, and whose target is short; undefined: it has to be read. */
export function recallHead(raw: IncomingMessage): string | undefined {
  const isOrdinary = sizeOf(raw.rawHeaders) <= LARGEST_HEADERS && findFieldProblem(raw) === null;
  return isOrdinary ? good.get(keyOf(raw)) : undefined;
}

function keyOf({ method, headers }: IncomingMessage): string {
  const {
    host = NONE,
    accept = NONE,
    'content-type': type = NONE,
    'content-encoding': coding = NONE,
  } = headers;
  return `${method}\n${host}\n${accept}\n${type}\n${coding}`;
}

function sizeOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length + 2;
  return bytes;
}

/** What depends on nothing but a few fields. */
function decideHead(request: FastifyRequest): string {
  if (!hasHost(request)) throw new ServiceError('BAD_REQUEST', 'The Host header is missing or malformed');
  if (request.method === 'POST') refuseByBodyFields(request.headers);
  const mediaType = responseType(request);
  if (mediaType !== undefined) return mediaType;
  throw new ServiceError(
    'NOT_ACCEPTABLE',
    'The answer is application/json or application/graphql-response+json: Accept has to allow one',
  );
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
