import type {
  ApolloServerPlugin,
  GraphQLRequestContext,
  GraphQLRequestContextDidResolveOperation,
  GraphQLRequestListener,
  GraphQLResponse,
} from '@apollo/server';
import { HeaderMap } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { getOperationAST, OperationTypeNode } from 'graphql';
import { ServiceError } from '../../common/errors.js';
import { Admission, type Admitted } from '../analysis/operation-validator.js';
import { Documents } from '../analysis/documents.js';
import { formatError, toGraphQLError, unavailabilityOf } from '../errors/error-response.js';
import { Operations } from './operations.js';
import type { RequestContext } from '../http/request-context.js';

/** What happens between a valid document and its answer, hung into Apollo's pipeline. */
@Plugin()
export class ExecutionPlugin implements ApolloServerPlugin<RequestContext> {
  constructor(
    private readonly documents: Documents,
    private readonly admission: Admission,
    private readonly operations: Operations,
  ) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    let admitted: Admitted | null = null;
    return Promise.resolve({
      didResolveOperation: async (context) => {
        const { source, document, schema } = context;
        this.documents.keep(source, { document, schema });
        admitted = await this.admit(context);
      },
      responseForOperation: (context) => {
        if (admitted === null) throw new Error('An operation is executed that was not admitted');
        return this.respond(context, admitted);
      },
      willSendResponse: (context) => {
        refuseMutationByGet(context);
        reportUnavailability(context);
        nameRequest(context);
        return Promise.resolve();
      },
    });
  }

  /** Errors of the checks refuse the request as a whole: HTTP tells them too. */
  private async admit(context: GraphQLRequestContextDidResolveOperation<RequestContext>): Promise<Admitted> {
    const { document, operation: definition, contextValue, schema, request } = context;
    try {
      if (!definition) {
        const message = 'The operation to run cannot be told: name one in operationName';
        throw new ServiceError('OPERATION_RESOLUTION_FAILURE', message, { argument: 'operationName' });
      }
      const variables = request.variables ?? {};
      return await this.admission.admit({ schema, document, definition, variables }, contextValue);
    } catch (error) {
      throw error instanceof ServiceError ? toGraphQLError(error, { refuses: true }) : error;
    }
  }

  private async respond(
    { contextValue, request: { variables, operationName } }: GraphQLRequestContext<RequestContext>,
    admitted: Admitted,
  ): Promise<GraphQLResponse> {
    const singleResult = await this.operations.answer(admitted, { variables, operationName }, contextValue);
    const headers = new HeaderMap();
    if (admitted.deprecated !== null) {
      for (const [name, value] of Object.entries(admitted.deprecated.headers)) headers.set(name, value);
    }
    // As it was decided when the request came: Apollo would decide it once more.
    if (contextValue.request.answerType !== null)
      headers.set('content-type', contextValue.request.answerType);
    return { http: { headers }, body: { kind: 'single', singleResult } };
  }
}

/** Apollo refuses it too, in its own words, but validates first and then answers 400: a GET must not even try. */
function refuseMutationByGet({
  request,
  document,
  response,
  contextValue,
}: GraphQLRequestContext<RequestContext>): void {
  if (request.http?.method !== 'GET' || document === undefined) return;
  const operation = getOperationAST(document, request.operationName);
  if (!operation || operation.operation === OperationTypeNode.QUERY) return;
  const error = new ServiceError('METHOD_NOT_ALLOWED', `A ${operation.operation} is sent by POST`);
  const graphQLError = toGraphQLError(error, { refuses: false });
  response.http.status = 405;
  response.http.headers.set('allow', 'POST');
  response.body = {
    kind: 'single',
    singleResult: { errors: [formatError(graphQLError.toJSON(), graphQLError, contextValue.requestId)] },
  };
}

/** When the database went away under an operation, HTTP says so too: proxies and clients try again by it. */
function reportUnavailability({ response }: GraphQLRequestContext<RequestContext>): void {
  if (response.body?.kind !== 'single') return;
  const unavailability = unavailabilityOf(response.body.singleResult.errors ?? []);
  if (unavailability === null) return;
  response.http.status = unavailability.status;
  for (const [name, value] of unavailability.headers) response.http.headers.set(name, value);
}

/** Every error says which request it belongs to, those that Apollo formatted included. */
function nameRequest({ response, contextValue }: GraphQLRequestContext<RequestContext>): void {
  if (response.body?.kind !== 'single') return;
  const { errors } = response.body.singleResult;
  if (errors === undefined) return;
  response.body.singleResult.errors = errors.map((error) => ({
    ...error,
    extensions: { ...error.extensions, requestId: contextValue.requestId },
  }));
}
