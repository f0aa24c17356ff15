import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import {
  type RejectedRequest,
  RejectionError,
  type RejectionWriter,
  type WrittenRejection,
} from './rejection.js';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';

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

type FieldProblem = 'repeated' | 'too long';

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

/** The largest head that Node reads. The limits of the endpoint are lower and have better messages. */
export const MAX_HEAD_BYTES = 65_536;

/** A rejection of bytes that could not be parsed, so that nothing else is known of the request. */
export interface UnparsedRejection {
  readonly id: string;
  readonly status: number;
}

/** Rejects requests that Node does not read to their end: malformed ones, and those that do not arrive in time. */
export class UnparsedRequests {
  /** The response to the last request of a connection. */
  private readonly last = new WeakMap<Socket, ServerResponse>();
  /** Requests that Fastify reads, because the form of a rejection is that of the path. */
  private readonly requests = new WeakMap<ServerResponse, RejectedRequest>();

  /** `note` is called for each rejection of a request without a known path. */
  constructor(
    private readonly headers: Readonly<Record<string, string>>,
    private readonly rejections: RejectionWriter,
    private readonly note: (rejection: UnparsedRejection) => void,
  ) {}

  /** Notes a request whose head has arrived; its body may still arrive. */
  begin(response: ServerResponse): void {
    this.last.set(response.req.socket, response);
  }

  /** Notes that Fastify reads the request. */
  noteRead({ raw, request }: FastifyReply): void {
    this.requests.set(raw, request);
  }

  /** @param error of Node's parser or timer */
  reject(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    const response = this.last.get(socket);
    const isUnderWay = response !== undefined && !response.writableFinished;
    if (isUnderWay && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      this.rejectLate(response, socket);
      return;
    }
    if (isUnderWay && response.req.complete && !response.headersSent) {
      // It is the response to the request before, and the last one.
      response.shouldKeepAlive = false;
      return;
    }
    // A connection that is opened in advance and not used has sent nothing.
    if (socket.bytesRead > 0 && socket.writable && !hasResponse(response))
      this.rejectUnknown(toRejectionError(error.code), socket);
    socket.destroy(error);
  }

  /** CONNECT (RFC 9110 §9.3.6) names a host and no path. Node closes the connection if nothing listens for it. */
  rejectTunnel(request: IncomingMessage, socket: Duplex): void {
    // The client may be gone.
    socket.on('error', () => undefined);
    const headers = { allow: 'GET, HEAD, POST' };
    const error = new RejectionError(405, 'METHOD_NOT_ALLOWED', 'This server is not a proxy', headers);
    this.rejectUnknown(error, socket, chooseRequestId(request));
    socket.end();
  }

  /** In the form of its path. */
  private rejectLate(response: ServerResponse, socket: Socket): void {
    if (response.req.complete) {
      // The request behind it has not arrived. The connection closes after the response to this one.
      response.shouldKeepAlive = false;
      return;
    }
    const request = this.requests.get(response);
    if (response.headersSent || request === undefined) {
      socket.destroy();
      return;
    }
    const rejection = this.rejections.write(tooLate(), request.id, request);
    response.writeHead(rejection.status, this.fieldsOf(rejection, request.id)).end(rejection.body);
  }

  /** In the first form, because there is no path. */
  private rejectUnknown(error: RejectionError, socket: Duplex, id: string = randomUUID()): void {
    const rejection = this.rejections.write(error, id, null);
    const { status, body } = rejection;
    const lines = Object.entries(this.fieldsOf(rejection, id)).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
    this.note({ id, status });
  }

  private fieldsOf({ headers, type, body }: WrittenRejection, id: string): Record<string, string> {
    return {
      ...this.headers,
      ...headers,
      'x-request-id': id,
      'content-type': type,
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    };
  }
}

/** Whether another response would be taken for a part of one that has begun, or for that of another request. */
function hasResponse(response: ServerResponse | undefined): boolean {
  if (response?.headersSent !== true) return false;
  return !response.writableFinished || !response.req.complete;
}

function tooLate(): RejectionError {
  return new RejectionError(408, 'TIMEOUT', 'The request did not arrive in time');
}

function toRejectionError(code: string | undefined): RejectionError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new RejectionError(
        431,
        'PAYLOAD_TOO_LARGE',
        `URL and headers are larger than ${MAX_HEAD_BYTES} bytes`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return tooLate();
    default:
      return new RejectionError(400, 'BAD_REQUEST', 'This is not an HTTP request');
  }
}
