import type {
  ApolloServerPlugin,
  GraphQLRequestContext,
  GraphQLRequestContextDidResolveOperation,
  GraphQLRequestListener,
  GraphQLResponse,
} from '@apollo/server';
import { HeaderMap } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { getOperationAST, type GraphQLFormattedError, OperationTypeNode } from 'graphql';
import { ServiceError } from '../common/errors.js';
import { Admission, type Admitted } from './admission.js';
import { Answers, minuteOf } from './answers.js';
import { formatError, httpOf, toGraphQLError } from './error-response.js';
import { Executor } from './executor.js';
import { Flights } from './flights.js';
import type { RequestContext } from './request-context.js';

/** What happens between a valid document and its answer, hung into Apollo's pipeline. */
@Plugin()
export class ExecutionPlugin implements ApolloServerPlugin<RequestContext> {
  constructor(
    private readonly admission: Admission,
    private readonly executor: Executor,
    private readonly answers: Answers,
    private readonly flights: Flights,
  ) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    let admitted: Admitted | null = null;
    return Promise.resolve({
      didResolveOperation: async (context) => {
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
        throw new ServiceError('OPERATION_RESOLUTION_FAILURE', message);
      }
      const variables = request.variables ?? {};
      return await this.admission.admit({ schema, document, definition, variables }, contextValue);
    } catch (error) {
      throw error instanceof ServiceError ? toGraphQLError(error, { refuses: true }) : error;
    }
  }

  private async respond(
    { contextValue, request }: GraphQLRequestContext<RequestContext>,
    admitted: Admitted,
  ): Promise<GraphQLResponse> {
    const { variables, operationName } = request;
    const minute = minuteOf(new Date());
    const { result, isOwn } = await this.flights.share(this.nameOf(contextValue, admitted, minute), () =>
      this.executor.execute(admitted, { variables, operationName }, contextValue),
    );
    const { data, errors } = result;
    const formatted = errors?.map((error) => formatError(error.toJSON(), error, contextValue.requestId));
    if (formatted === undefined && isOwn) this.remember(contextValue, admitted, minute);
    const singleResult = { data: data ?? null, ...(formatted === undefined ? {} : { errors: formatted }) };
    const headers = new HeaderMap();
    // As it was decided when the request came: Apollo would decide it once more.
    if (contextValue.request.answerType !== null)
      headers.set('content-type', contextValue.request.answerType);
    return { http: { headers }, body: { kind: 'single', singleResult } };
  }

  /** The same for all whose answer is the same; null: it may be another one each time. */
  private nameOf(
    { request: { question } }: RequestContext,
    { dependences }: Admitted,
    minute: number,
  ): string | null {
    if (question === null || dependences === null) return null;
    const name = this.answers.nameOf(question, dependences);
    return name === null ? null : `${minute}\n${name}`;
  }

  /** An answer is kept as it is sent, if all of it is of one revision and its URLs are of one minute. */
  private remember(
    { request, revisions }: RequestContext,
    { dependences, measure }: Admitted,
    begun: number,
  ): void {
    const { question } = request;
    const [revision = null, ...others] = revisions;
    if (question === null || dependences === null || others.length > 0) return;
    const minute = dependences.has('minute') ? begun : null;
    if (minute !== null && minute !== minuteOf(new Date())) return;
    if (!this.answers.isWorthKeeping(question, dependences)) return;
    request.keep = (body, contentType) => {
      const answer = { body, contentType, measure, minute };
      this.answers.keep(question, answer, dependences, revision);
    };
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
  const errors: readonly GraphQLFormattedError[] = response.body.singleResult.errors ?? [];
  const code = errors
    .map((error) => error.extensions?.['code'])
    .find((each) => each === 'SERVICE_UNAVAILABLE' || each === 'TIMEOUT');
  if (code === undefined) return;
  const { status, headers } = httpOf(new ServiceError(code, '', { retryAfter: 1 }));
  response.http.status = status;
  for (const [name, value] of headers) response.http.headers.set(name, value);
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
