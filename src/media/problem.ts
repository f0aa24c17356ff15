import { STATUS_CODES } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type ErrorCode, ServiceError } from '../common/errors.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** URL of the page that explains the codes of errors, each below its own name. */
    errorsPage?: string;
  }
}

/** What can go wrong with a picture. The first two only exist here; the others mean what they mean elsewhere. */
export type ProblemCode =
  | 'SIGNATURE_INVALID'
  | 'URL_EXPIRED'
  | Extract<
      ErrorCode,
      | 'BAD_REQUEST'
      | 'FORBIDDEN'
      | 'NOT_FOUND'
      | 'METHOD_NOT_ALLOWED'
      | 'PAYLOAD_TOO_LARGE'
      | 'UNSUPPORTED_MEDIA_TYPE'
      | 'STALE'
      | 'TIMEOUT'
      | 'SERVICE_UNAVAILABLE'
      | 'INTERNAL_SERVER_ERROR'
    >;

/** A refusal that is meant for the caller. Never says anything of the URL: its signature is a secret. */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly code: ProblemCode,
    detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.name = 'ProblemError';
  }
}

/** Says what an error means to the caller of an endpoint for pictures. Unknown errors are masked. */
export function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof ServiceError) {
    const { code, message, details } = error;
    if (code === 'BAD_REQUEST') return new ProblemError(400, code, message, {}, { cause: error });
    if (code === 'SERVICE_UNAVAILABLE' || code === 'STALE' || code === 'TIMEOUT') {
      const retryAfter = String(details.retryAfter ?? 1);
      return new ProblemError(503, code, message, { 'Retry-After': retryAfter }, { cause: error });
    }
  }
  return new ProblemError(
    500,
    'INTERNAL_SERVER_ERROR',
    'Something went wrong on our side',
    {},
    { cause: error },
  );
}

/**
 * The problem as a document (RFC 9457 section 3). Its type is the page that explains it, or about:blank where there is none
 * (section 4.2.1); `code` says the same in a word, as the GraphQL endpoint does.
 */
export function buildProblemDocument(
  problem: ProblemError,
  { id: requestId, server: { errorsPage } }: Pick<FastifyRequest, 'id' | 'server'>,
): object {
  return {
    type: errorsPage === undefined ? 'about:blank' : `${errorsPage}#${problem.code}`,
    title: STATUS_CODES[problem.status],
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    requestId,
  };
}
