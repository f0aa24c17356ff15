import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from '../common/errors.js';
import { asServiceError } from '../common/http-exception.js';
import { httpOf } from '../graphql/errors/error-response.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** URL of the page that explains the codes of errors, each below its own name. */
    errorsPage?: string;
  }
}

/** The codes of problem documents. The first two exist only for pictures. */
export type ProblemCode = 'SIGNATURE_INVALID' | 'URL_EXPIRED' | ErrorCode;

/** An error that is meant for the client. Its message never contains the URL, because its signature is a secret. */
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

/** The problem that a client of a REST endpoint sees for an error. Errors that are not meant for clients are masked. */
export function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const known = asServiceError(error);
  if (known === null) {
    return new ProblemError(
      500,
      'INTERNAL_SERVER_ERROR',
      'Something went wrong on our side',
      {},
      { cause: error },
    );
  }
  const { status, headers } = httpOf(known);
  return new ProblemError(
    error instanceof HttpException ? error.getStatus() : status,
    known.code,
    known.message,
    { ...(status === 503 ? { 'retry-after': '1' } : {}), ...Object.fromEntries(headers) },
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
