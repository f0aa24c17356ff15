import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../common/errors.js';
import { buildRefusal, isForGraphQL, StatusError, typeOfRefusal } from '../graphql/errors/rejection.js';
import { buildProblemDocument, type ProblemCode, ProblemError, toProblem } from '../media/problem.js';

const logger = new Logger('Http');

/** No route has this path. */
export class NothingHereError extends Error {
  readonly statusCode = 404;
}

/** Answers whatever was thrown on the way to an answer: in GraphQL's form on its paths, else as RFC 9457 has it. */
export function refuseRequest(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, headers, type, body } = buildRequestRefusal(error, request);
  return (
    reply
      .code(status)
      .headers(headers)
      .type(type)
      // As bytes: text would get a charset, which the media type of problems does not have.
      .send(Buffer.from(body))
  );
}

/** The same, for whoever writes it. */
export function buildRequestRefusal(
  error: unknown,
  request: FastifyRequest,
): { status: number; headers: Record<string, string>; type: string; body: string } {
  if (isForGraphQL(request)) {
    const { status, headers, body } = buildRefusal(error, request.id);
    return { status, headers, type: typeOfRefusal(request), body };
  }
  const problem = problemOf(error);
  if (problem.status === 500)
    logger.error(`Request ${request.id} failed`, error instanceof Error ? error.stack : '');
  return {
    status: problem.status,
    headers: { ...problem.headers, 'Cache-Control': 'no-store' },
    type: 'application/problem+json',
    body: JSON.stringify(buildProblemDocument(problem, request)),
  };
}

/** Refusals of Fastify by their status. Their messages repeat parts of the request, and are not shown. */
const REFUSED: Record<number, [ProblemCode, string]> = {
  400: ['BAD_REQUEST', 'The request is malformed'],
  404: ['NOT_FOUND', 'There is nothing here'],
  413: ['PAYLOAD_TOO_LARGE', 'The body is too large'],
  414: ['PAYLOAD_TOO_LARGE', 'The URL is too long'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'A body of this type is not read here'],
};

function problemOf(error: unknown): ProblemError {
  if (error instanceof StatusError) {
    return new ProblemError(error.status, error.code as ProblemCode, error.message);
  }
  if (error instanceof ServiceError && error.code === 'BAD_REQUEST') {
    return new ProblemError(400, error.code, error.message);
  }
  const { statusCode } = error as { statusCode?: number };
  const refused = REFUSED[statusCode ?? 0];
  if (refused === undefined || statusCode === undefined) return toProblem(error);
  const [code, message] = refused;
  return new ProblemError(statusCode, code, message);
}

/** Nest would answer, and log, what its handlers throw: it is passed on to those who know what it means. */
@Catch()
export class PassOnFilter implements ExceptionFilter {
  catch(error: unknown, _host: ArgumentsHost): never {
    throw error;
  }
}
