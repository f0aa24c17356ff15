import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { ServiceError } from '../common/errors.js';
import { chooseRequestId } from '../common/request-id.js';
import { buildRefusal, StatusError } from '../graphql/errors/rejection.js';
import { buildRequestRefusal } from './reject-request.js';

/** Bytes that Node reads of a request's head before it gives up; our own limits are below and answer better. */
export const LARGEST_HEAD = 65_536;

/** A refusal of what Node could not read as a request, so that nothing is known of it. */
export interface UnparsedRejection {
  readonly id: string;
  readonly status: number;
}

/** Headers of every answer. */
type Always = Readonly<Record<string, string>>;

/** Refuses requests that Node does not read to their end: malformed ones, and those that do not arrive in time. */
export class UnparsedRequests {
  /** The last request of a connection. */
  private readonly last = new WeakMap<Socket, FastifyReply>();

  /** @param note is told of each that is refused before its path is known */
  constructor(
    private readonly always: Always,
    private readonly note: (refusal: UnparsedRejection) => void,
  ) {}

  /** A request has begun to be answered, though its body may still arrive. */
  begin(reply: FastifyReply): void {
    this.last.set(reply.request.raw.socket, reply);
  }

  /** @param error what Node has to say of a connection */
  refuse(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    const reply = this.last.get(socket);
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isLate && reply !== undefined && !reply.raw.writableFinished) {
      this.refuseLate(reply, socket);
      return;
    }
    // A request that was answered before its body was read has its answer.
    const isAnswered = isLate && reply?.request.raw.complete === false;
    // A connection that is opened in advance, and not needed, has asked for nothing.
    if (socket.bytesRead > 0 && socket.writable && !isAnswered)
      this.refuseUnknown(errorOf(error.code), socket);
    socket.destroy(error);
  }

  /** CONNECT (RFC 9110 §9.3.6) names a host and no path. Node closes the connection where nothing listens for it. */
  refuseTunnel(request: IncomingMessage, socket: Duplex): void {
    // Its client may have gone by now.
    socket.on('error', () => undefined);
    const error = new ServiceError('METHOD_NOT_ALLOWED', 'This is no proxy');
    this.refuseUnknown(error, socket, chooseRequestId(request), { allow: 'GET, POST' });
    socket.end();
  }

  /** In the form of its path. */
  private refuseLate({ raw: response, request }: FastifyReply, socket: Socket): void {
    if (request.raw.complete) {
      // It is the one behind it that has not arrived, and it closes the connection when it is answered.
      response.shouldKeepAlive = false;
      return;
    }
    if (response.headersSent) {
      socket.destroy();
      return;
    }
    const { status, headers, type, body } = buildRequestRefusal(tooLate(), request);
    response.writeHead(status, this.fieldsOf(headers, request.id, type, body)).end(body);
  }

  /** As a GraphQL response, whatever it was for. */
  private refuseUnknown(
    error: ServiceError,
    socket: Duplex,
    id: string = randomUUID(),
    more: Always = {},
  ): void {
    const { status, headers, body } = buildRefusal(error, id);
    const fields = this.fieldsOf({ ...headers, ...more }, id, 'application/json; charset=utf-8', body);
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
    this.note({ id, status });
  }

  private fieldsOf(headers: Always, id: string, type: string, body: string): Record<string, string> {
    return {
      ...this.always,
      ...headers,
      'x-request-id': id,
      'content-type': type,
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    };
  }
}

function tooLate(): ServiceError {
  return new StatusError(408, 'TIMEOUT', 'The request did not arrive in time');
}

function errorOf(code: string | undefined): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new StatusError(
        431,
        'PAYLOAD_TOO_LARGE',
        `URL and headers are larger than ${LARGEST_HEAD} bytes`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return tooLate();
    default:
      return new ServiceError('BAD_REQUEST', 'This is not a request of HTTP');
  }
}
