import { STATUS_CODES } from 'node:http';
import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  Injectable,
  Logger,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, type ErrorDetails, ServiceError, asServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { completeChallenge, REALM } from './challenges.js';

/** The codes of rejections. The first two exist only for signed URLs. */
export type RejectionCode = 'SIGNATURE_INVALID' | 'URL_EXPIRED' | ErrorCode;

/** Why a request is rejected as a whole, before it is written in the form of its path. */
export interface Rejection {
  readonly status: number;
  readonly code: RejectionCode;
  /** For the client. It never repeats a part of the request, because a URL may contain a signature. */
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: ErrorDetails;
}

export type RejectedRequest = Pick<FastifyRequest, 'url' | 'routeOptions' | 'raw' | 'rateLimits'>;

interface WrittenRejection {
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How rejections below some paths are written. */
export interface RejectionForm {
  matches(request: RejectedRequest): boolean;
  /** @param request null for bytes that could not be parsed as a request */
  write(
    rejection: Rejection,
    requestId: string,
    request: RejectedRequest | null,
  ): Omit<WrittenRejection, 'status'>;
}

/** An error whose status or headers do not follow from its code. */
export class RejectionError extends Error implements Rejection {
  readonly details = {};

  constructor(
    readonly status: number,
    readonly code: RejectionCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'RejectionError';
  }
}

/** Errors of Fastify by their status. Their own messages repeat parts of the request. */
const FASTIFY_ERRORS: Record<number, [RejectionCode, string]> = {
  400: ['BAD_REQUEST', 'The request is malformed'],
  404: ['NOT_FOUND', 'No resource exists at this path'],
  413: ['PAYLOAD_TOO_LARGE', 'The body is too large'],
  414: ['PAYLOAD_TOO_LARGE', 'The URL is too long'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: Content-Type: application/json'],
};

/** The rejection that an error means. Every error that is not meant for clients becomes the same one. */
export function toRejection(error: unknown): Rejection {
  if (error instanceof RejectionError) return error;
  const known = asServiceError(error);
  if (known !== null)
    return rejectionOf(known, error instanceof HttpException ? error.getStatus() : undefined);
  const { statusCode: status = 0 } = error as { statusCode?: number };
  const [code, message] = FASTIFY_ERRORS[status] ?? [];
  return code === undefined || message === undefined
    ? rejectionOf(
        new ServiceError('INTERNAL_SERVER_ERROR', 'The request failed: report its id to the operators'),
      )
    : { status, code, message, headers: {}, details: {} };
}

function rejectionOf({ code, message, details, status: own }: ServiceError, status = own): Rejection {
  const headers: Record<string, string> = {};
  const { challenge, requiredScopes, retryAfter } = details;
  if (code === 'UNAUTHENTICATED') headers['www-authenticate'] = challenge ?? `Bearer realm="${REALM}"`;
  if (code === 'INSUFFICIENT_SCOPE' && requiredScopes !== undefined) {
    // RFC 6750 §3.1.
    headers['www-authenticate'] = `Bearer error="insufficient_scope", scope="${requiredScopes.join(' ')}"`;
  }
  const seconds = retryAfter ?? (status === 503 ? 1 : null);
  if (seconds !== null) headers['retry-after'] = String(Math.max(1, Math.ceil(seconds)));
  return { status, code, message, headers, details };
}

export class RejectionWriter {
  private readonly logger = new Logger('Http');

  /** The first form that matches is used; for bytes that are not a request, the very first. */
  constructor(
    private readonly forms: readonly RejectionForm[],
    private readonly config: Pick<Config, 'baseUrl' | 'limits'>,
  ) {}

  write(error: unknown, requestId: string, request: RejectedRequest | null): WrittenRejection {
    const rejection = this.withLimit(error, toRejection(error));
    const { status } = rejection;
    if (status === 500) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : 'no error object';
      this.logger.error(`Request ${requestId} failed`, reason);
    }
    const form = this.forms.find((each) => request === null || each.matches(request)) ?? PROBLEM_FORM;
    const { type, headers, body } = form.write(rejection, requestId, request);
    const route = request?.routeOptions.url ?? '';
    const own = completeChallenge(rejection.headers, this.config.baseUrl, route);
    return { status, type, headers: { ...own, ...headers, 'cache-control': 'no-store' }, body };
  }

  /** Fastify does not say how large a body may be. */
  private withLimit(error: unknown, rejection: Rejection): Rejection {
    if ((error as { code?: unknown } | null)?.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return rejection;
    const { bodyBytes } = this.config.limits;
    return { ...rejection, message: `${rejection.message}: at most ${bodyBytes} bytes are allowed` };
  }

  readonly send = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { status, headers, type, body } = this.write(error, request.id, request);
    // As bytes: Fastify adds a charset to text, which the media type of problems does not have.
    return reply.code(status).headers(headers).type(type).send(Buffer.from(body));
  };
}

/** Leaves errors to the RejectionWriter. Without it, Nest writes responses of another form. */
@Catch()
export class RethrowFilter implements ExceptionFilter {
  catch(error: unknown, _host: ArgumentsHost): never {
    throw error;
  }
}

/** Allows GET and HEAD, and lists them in `Allow` when it rejects another method (RFC 9110 §15.5.6). */
@Injectable()
export class ReadOnlyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { method } = context.switchToHttp().getRequest<FastifyRequest>();
    if (method === 'GET' || method === 'HEAD') return true;
    throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'This path can only be read', { allow: 'GET, HEAD' });
  }
}

/** Problem details (RFC 9457), for every path that has no other form. */
export const PROBLEM_FORM: RejectionForm = {
  matches: () => true,
  write: ({ status, code, message }, requestId) => ({
    type: 'application/problem+json',
    headers: {},
    // Without a type (RFC 9457 §4.2.1): the code is the name of the problem.
    body: JSON.stringify({ title: STATUS_CODES[status], status, detail: message, code, requestId }),
  }),
};
