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
import { bearerChallenge } from './challenges.js';

/** The codes of rejections. The first two exist only for signed URLs. */
export type RejectionCode = 'SIGNATURE_INVALID' | 'URL_EXPIRED' | ErrorCode;

export type RejectedRequest = Pick<FastifyRequest, 'url' | 'routeOptions' | 'raw' | 'rateLimits'>;

/** How rejections below some paths are written. */
export interface RejectionForm {
  matches(request: RejectedRequest): boolean;
  write(
    rejection: RejectionError,
    requestId: string,
    request: RejectedRequest,
  ): { type: string; headers: Readonly<Record<string, string>>; body: string };
}

/**
 * Why a request is rejected as a whole, before it is written in the form of its path. The message never repeats a part of the request,
 * because a URL may contain a signature.
 */
export class RejectionError extends Error {
  constructor(
    readonly status: number,
    readonly code: RejectionCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly details: ErrorDetails = {},
  ) {
    super(message);
  }
}

/** Errors of Fastify by their status. Their own messages repeat parts of the request. */
const FASTIFY_ERRORS: Record<number, [RejectionCode, string]> = {
  400: ['BAD_REQUEST', 'The request is malformed'],
  404: ['NOT_FOUND', 'No resource exists at this path'],
  413: ['PAYLOAD_TOO_LARGE', 'The body has more bytes than LIMIT_BODY_BYTES'],
  414: ['PAYLOAD_TOO_LARGE', 'The URL is too long'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: Content-Type: application/json'],
};

/** The rejection that an error means. Every error that is not meant for clients becomes the same one. */
export function toRejection(error: unknown): RejectionError {
  if (error instanceof RejectionError) return error;
  const known = asServiceError(error);
  if (known !== null)
    return rejectionOf(known, error instanceof HttpException ? error.getStatus() : undefined);
  const { statusCode = 0 } = error as { statusCode?: number };
  const expected = FASTIFY_ERRORS[statusCode];
  if (expected !== undefined) return new RejectionError(statusCode, ...expected);
  return rejectionOf(
    new ServiceError('INTERNAL_SERVER_ERROR', 'The request failed: report its id to the operators'),
  );
}

function rejectionOf({ code, message, details, status: own }: ServiceError, status = own): RejectionError {
  const headers: Record<string, string> = {};
  const { challenge, requiredScopes, retryAfter } = details;
  if (code === 'UNAUTHENTICATED') headers['www-authenticate'] = challenge ?? bearerChallenge();
  if (code === 'INSUFFICIENT_SCOPE' && requiredScopes !== undefined) {
    const scope = `scope="${requiredScopes.join(' ')}"`;
    headers['www-authenticate'] = bearerChallenge('error="insufficient_scope"', scope);
  }
  const seconds = retryAfter ?? (status === 503 ? 1 : null);
  if (seconds !== null) headers['retry-after'] = String(Math.max(1, Math.ceil(seconds)));
  return new RejectionError(status, code, message, headers, details);
}

export class RejectionWriter {
  private readonly logger = new Logger('Http');

  /** @param forms the first one that matches is used */
  constructor(private readonly forms: readonly RejectionForm[]) {}

  readonly send = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const rejection = toRejection(error);
    if (rejection.status === 500) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : 'no error object';
      this.logger.error(`Request ${request.id} failed`, reason);
    }
    const form = this.forms.find((each) => each.matches(request)) ?? PROBLEM_FORM;
    const { type, headers, body } = form.write(rejection, request.id, request);
    const all = { ...rejection.headers, ...headers, 'cache-control': 'no-store' };
    void reply.code(rejection.status).headers(all);
    // As bytes: Fastify adds a charset to text, which the media type of problems does not have.
    return reply.type(type).send(Buffer.from(body));
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
