import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { chooseRequestId } from './request-head-check.js';
import { RejectionError, type RejectionWriter, type WrittenRejection } from './rejection.js';

/** The largest head that Node reads. The limits of the endpoint are lower and have better messages. */
export const MAX_HEAD_BYTES = 65_536;

/** A rejection of bytes that could not be parsed, so that nothing else is known of the request. */
export interface UnparsedRejection {
  readonly id: string;
  readonly status: number;
}

/** Rejects requests that Node does not read to their end: malformed ones, and those that do not arrive in time. */
export class UnparsedRequests {
  /** The last request of a connection. */
  private readonly last = new WeakMap<Socket, FastifyReply>();

  /** `note` is called for each rejection of a request without a known path. */
  constructor(
    private readonly headers: Readonly<Record<string, string>>,
    private readonly rejections: RejectionWriter,
    private readonly note: (rejection: UnparsedRejection) => void,
  ) {}

  /** Notes a request whose head has arrived; its body may still arrive. */
  begin(reply: FastifyReply): void {
    this.last.set(reply.request.raw.socket, reply);
  }

  /** @param error of Node's parser or timer */
  reject(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    const reply = this.last.get(socket);
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isLate && reply !== undefined && !reply.raw.writableFinished) {
      this.rejectLate(reply, socket);
      return;
    }
    // A request that was answered before its body was read has its response.
    const isAnswered = isLate && reply?.request.raw.complete === false;
    // A connection that is opened in advance and not used has sent nothing.
    if (socket.bytesRead > 0 && socket.writable && !isAnswered)
      this.rejectUnknown(toRejectionError(error.code), socket);
    socket.destroy(error);
  }

  /** CONNECT (RFC 9110 §9.3.6) names a host and no path. Node closes the connection if nothing listens for it. */
  rejectTunnel(request: IncomingMessage, socket: Duplex): void {
    // The client may be gone.
    socket.on('error', () => undefined);
    const headers = { allow: 'GET, POST' };
    const error = new RejectionError(405, 'METHOD_NOT_ALLOWED', 'This server is not a proxy', headers);
    this.rejectUnknown(error, socket, chooseRequestId(request));
    socket.end();
  }

  /** In the form of its path. */
  private rejectLate({ raw: response, request }: FastifyReply, socket: Socket): void {
    if (request.raw.complete) {
      // The request behind it has not arrived. The connection closes after the response to this one.
      response.shouldKeepAlive = false;
      return;
    }
    if (response.headersSent) {
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
