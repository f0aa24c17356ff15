import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { parseUrl } from '../../common/url.js';
import { responseType } from '../errors/error-response.js';
import { readMaxStaleness } from '../../database/staleness.js';
import type { PipelineRequest } from './pipeline-request.js';
import { RejectionError } from '../../http/rejection.js';

/** Maximum size of all header fields together, in bytes. */
const MAX_HEADER_BYTES = 16_384;

/** Media types of the responses to valid heads, cached because clients repeat the same head. */
const correct = new LRUCache<string, string>({ max: 1000 });
/** Longer heads are not cached. */
const MAX_CACHED_LENGTH = 500;
/** Represents a missing field in keys. No field has this value. */
const NONE = '\0';

/** The step that checks the head, before the body is read. Throws as in the table of docs/http.md. */
export function readHead(request: PipelineRequest): void {
  const { method, raw } = request;
  if (method !== 'GET' && method !== 'POST') {
    const headers = { allow: 'GET, POST' };
    throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'The endpoint accepts GET and POST', headers);
  }
  if (sizeOf(raw.rawHeaders) > MAX_HEADER_BYTES) {
    throw new RejectionError(
      431,
      'PAYLOAD_TOO_LARGE',
      `The headers are larger than ${MAX_HEADER_BYTES} bytes`,
    );
  }
  request.maxStaleness = readMaxStaleness(raw.headers);
  const key = keyOf(raw);
  let mediaType = correct.get(key);
  if (mediaType === undefined) {
    mediaType = checkFields(request);
    if (key.length <= MAX_CACHED_LENGTH) correct.set(key, mediaType);
  }
  request.responseType = mediaType;
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

/** Checks the fields on which the cached result depends. Returns the media type of the response. */
function checkFields({ method, raw }: PipelineRequest): string {
  if (!hasHost(raw)) throw new ServiceError('BAD_REQUEST', 'The Host header is missing or malformed');
  if (method === 'POST') checkBodyFields(raw.headers);
  const mediaType = responseType(raw);
  if (mediaType !== undefined) return mediaType;
  throw new ServiceError(
    'NOT_ACCEPTABLE',
    'The answer is application/json or application/graphql-response+json: Accept has to allow one',
  );
}

/** RFC 9112 §3.2: a request without a valid Host is rejected with 400. */
function hasHost({ headers: { host } }: IncomingMessage): boolean {
  return host !== undefined && parseUrl(`http://${host}/`) !== null;
}

function checkBodyFields(headers: IncomingHttpHeaders): void {
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

/** RFC 9110 §8.3.1. Without a charset, JSON is UTF-8 (RFC 8259 §8.1), the only accepted charset. */
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
