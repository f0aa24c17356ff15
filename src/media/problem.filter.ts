import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PICTURE_HEADERS } from './picture-headers.js';
import { buildProblemDocument, toProblem } from './problem.js';

/** Answers with a problem document (RFC 9457) instead of a picture. No URL is logged: a signature is a secret. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const problem = toProblem(error);
    if (problem.status === 500) {
      this.logger.error(
        `Request ${request.id} for a picture failed`,
        error instanceof Error ? error.stack : String(error),
      );
    }
    void http
      .getResponse<FastifyReply>()
      .code(problem.status)
      .headers({ ...PICTURE_HEADERS, ...problem.headers, 'Cache-Control': 'no-store' })
      .type('application/problem+json')
      // As bytes: text would get a charset, which this media type does not have.
      .send(Buffer.from(JSON.stringify(buildProblemDocument(problem, request))));
  }
}
