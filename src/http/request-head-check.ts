import type { IncomingMessage } from 'node:http';
import { RejectionError } from './rejection.js';
import { randomUUID } from 'node:crypto';

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

/** Maximum characters of a header field that is parsed, because parsing costs more than reading. */
export const LONGEST_PARSED_FIELD = 1000;

/** Header fields that this service or its libraries parse. */
const PARSED = [
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'cache-control',
  'connection',
  'content-encoding',
  'content-type',
  'expect',
  'forwarded',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'origin',
  'range',
  'te',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-request-id',
] as const;

/** `rawHeaders` alternates names and values; `headers` has the values by name, as Node provides them. */
type RequestFields = Pick<IncomingMessage, 'rawHeaders' | 'headers'>;

export type FieldProblem = 'repeated' | 'too long';

/**
 * Checks the header fields before they are parsed. Fields of one name count together. Node keeps the first of
 * two, and a proxy in front may keep the other one (RFC 9112 §3.2, RFC 9110 §5.3).
 */
export function findFieldProblem({ rawHeaders, headers }: RequestFields): FieldProblem | null {
  let length = 0;
  for (let index = 1; index < rawHeaders.length; index += 2) length += rawHeaders[index]?.length ?? 0;
  // The total length of most heads is below the limit, which avoids the individual checks.
  if (length > LONGEST_PARSED_FIELD && PARSED.some((name) => isLong(headers[name]))) return 'too long';
  const isRepeated = countFields(rawHeaders, 'host') > 1 || countFields(rawHeaders, 'content-type') > 1;
  return isRepeated ? 'repeated' : null;
}

/** How many header fields have this name, in lower case. */
export function countFields(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const each = rawHeaders[index];
    if (each?.length === name.length && each.toLowerCase() === name) count++;
  }
  return count;
}

function isLong(value: string | string[] | undefined): boolean {
  return value !== undefined && value.length > LONGEST_PARSED_FIELD;
}

const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Returns the id of a request: the one of its client if it is safe in a log, otherwise a new one. */
export function chooseRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}
