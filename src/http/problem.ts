import { STATUS_CODES } from 'node:http';
import type { Rejection, RejectionForm } from './rejection.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** URL of the page that explains the codes of errors, each below its own name. */
    errorsPage?: string;
  }
}

/** Problem details (RFC 9457), for every path that has no other form. */
export const PROBLEM_FORM: RejectionForm = {
  matches: () => true,
  write: (rejection, requestId, request) => ({
    type: 'application/problem+json',
    headers: {},
    body: JSON.stringify(buildProblem(rejection, requestId, request?.server.errorsPage)),
  }),
};

/** The type is the page that explains the code, or about:blank if there is none (RFC 9457 §4.2.1). */
function buildProblem({ status, code, message }: Rejection, requestId: string, errorsPage?: string): object {
  return {
    type: errorsPage === undefined ? 'about:blank' : `${errorsPage}#${code}`,
    title: STATUS_CODES[status],
    status,
    detail: message,
    code,
    requestId,
  };
}
