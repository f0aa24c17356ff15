import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { LONGEST_PARSED_FIELD } from './headers.js';
import { RejectionError, type RejectionWriter } from './rejection.js';

/** The largest request target. Parsers of query strings are slow with many parameters. */
const MAX_URL_BYTES = 8192;
/** The beginnings of the header fields that this service or its libraries parse. */
const PARSED =
  /^(accept|access-control-|cache-|connection|content-|expect|forwarded|host|if-|origin|range|te$|trace|transfer-|upgrade|x-forwarded-|x-request-id)/;

/** Checks what Node accepts and no request may contain. Returns null if the head is correct. */
export function findHeadProblem(request: IncomingMessage): RejectionError | null {
  const { httpVersion, headers, rawHeaders, url = '' } = request;
  if (url.length > MAX_URL_BYTES) {
    const message = `The URL is longer than ${MAX_URL_BYTES} bytes: send the query by POST`;
    return new RejectionError(414, 'PAYLOAD_TOO_LARGE', message);
  }
  if (hasLongField(headers)) {
    const message = `A header field is longer than ${LONGEST_PARSED_FIELD} bytes`;
    return new RejectionError(431, 'PAYLOAD_TOO_LARGE', message);
  }
  // Node keeps the first of two, and a proxy in front may keep the other one (RFC 9112 §3.2, RFC 9110 §5.3).
  if (countFields(rawHeaders, 'host') > 1 || countFields(rawHeaders, 'content-type') > 1)
    return new RejectionError(400, 'BAD_REQUEST', 'Host and Content-Type must not be repeated');
  // Node passes on other codings unchanged, and HTTP/1.0 does not define where such a body ends (RFC 9112 §6.1).
  const coding = headers['transfer-encoding']?.toLowerCase() ?? 'none';
  if (coding !== 'none' && (coding !== 'chunked' || httpVersion === '1.0'))
    return new RejectionError(400, 'BAD_REQUEST', 'Transfer-Encoding must be chunked, and HTTP/1.1');
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return new RejectionError(417, 'BAD_REQUEST', 'The only supported expectation is 100-continue');
  return null;
}

function hasLongField(headers: IncomingMessage['headers']): boolean {
  for (const name in headers)
    if ((headers[name]?.length ?? 0) > LONGEST_PARSED_FIELD && PARSED.test(name)) return true;
  return false;
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

/** Rejects what Node does not read to its end: malformed requests, and those that do not arrive in time. */
export class UnparsedRequests {
  /** The response to the last request of a connection. */
  private readonly last = new WeakMap<Socket, ServerResponse>();

  /** `note` is called for each rejection. */
  constructor(
    private readonly headers: Readonly<Record<string, string>>,
    private readonly rejections: RejectionWriter,
    private readonly note: (rejection: UnparsedRejection) => void,
  ) {}

  /** Notes a request whose head has arrived; its body may still arrive. */
  begin(response: ServerResponse): void {
    this.last.set(response.req.socket, response);
  }

  /** @param error of Node's parser or timer */
  reject(error: Error & { code?: string }, socket: Socket): void {
    const response = this.last.get(socket);
    // Another response would be taken for a part of one that has begun, or for that of another request.
    const isBegun = response?.headersSent === true && !(response.writableFinished && response.req.complete);
    // A connection that is opened in advance and not used has sent nothing.
    if (error.code !== 'ECONNRESET' && socket.writable && socket.bytesRead > 0 && !isBegun) {
      const isOfHead = response?.req.complete !== false;
      this.write(
        toRejectionError(error.code),
        socket,
        isOfHead ? randomUUID() : chooseRequestId(response.req),
      );
    }
    socket.destroy(error);
  }

  /** In the first form, because a path may not be known. */
  private write(error: RejectionError, socket: Socket, id: string): void {
    const { status, headers, type, body } = this.rejections.write(error, id, null);
    const fields = {
      ...this.headers,
      ...headers,
      'x-request-id': id,
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
    this.note({ id, status });
  }
}

function toRejectionError(code: string | undefined): RejectionError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `URL and headers are larger than ${MAX_HEAD_BYTES} bytes`;
    return new RejectionError(431, 'PAYLOAD_TOO_LARGE', message);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new RejectionError(408, 'TIMEOUT', 'The request did not arrive in time');
  return new RejectionError(400, 'BAD_REQUEST', 'This is not an HTTP request');
}
