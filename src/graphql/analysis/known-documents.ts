import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { getOperationAST, OperationTypeNode } from 'graphql';
import { Database } from '../../database/database.js';
import { Admission, type Question } from './operation-validator.js';
import { Documents } from './documents.js';
import { unavailabilityOf } from '../errors/error-response.js';
import { Operations } from '../execution/operations.js';
import { RequestContext } from '../http/request-context.js';
import type { RequestParameters } from '../http/request-body.js';

/**
 * Answers operations of documents that Apollo has found valid before: of those it has nothing more to say, and takes as
 * long for it as a small answer takes to make (docs/adr/0030).
 */
@Injectable()
export class KnownDocuments {
  constructor(
    private readonly documents: Documents,
    private readonly admission: Admission,
    private readonly operations: Operations,
    private readonly database: Database,
  ) {}

  /** What is asked, where the document is known; null: Apollo is to look at it. */
  find({ method }: FastifyRequest, { query, operationName, variables }: RequestParameters): Question | null {
    const known = this.documents.find(query);
    if (known === null) return null;
    const definition = getOperationAST(known.document, operationName);
    if (!definition) return null;
    if (method === 'GET' && definition.operation !== OperationTypeNode.QUERY) return null;
    return { ...known, definition, variables: variables ?? {} };
  }

  /** @throws ServiceError when the operation may not run at all */
  async answer(question: Question, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = new RequestContext(request, request.principal, this.database);
    const admitted = await this.admission.admit(question, context);
    const { variables, definition } = question;
    const execution = { variables, operationName: definition.name?.value };
    const answer = await this.operations.answer(admitted, execution, context);
    const unavailability = answer.errors === undefined ? null : unavailabilityOf(answer.errors);
    if (unavailability !== null) {
      void reply.code(unavailability.status).headers(Object.fromEntries(unavailability.headers));
    }
    if (admitted.deprecated !== null) void reply.headers(admitted.deprecated.headers);
    void reply
      .header('cache-control', 'no-store')
      .type(request.answerType ?? '')
      .send(JSON.stringify(answer));
  }
}
