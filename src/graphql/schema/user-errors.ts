import {
  getNamedType,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
} from 'graphql';
import { asServiceError, type ServiceError } from '../../common/errors.js';
import { selects } from '../analysis/selection.js';
import { countError } from '../errors/error-response.js';
import type { RequestContext } from '../http/request-context.js';

/** The codes of failures that a client can foresee. */
export enum UserErrorCode {
  BAD_USER_INPUT = 'BAD_USER_INPUT',
  CONFLICT = 'CONFLICT',
  FORBIDDEN = 'FORBIDDEN',
  NOT_FOUND = 'NOT_FOUND',
}

const CODES: ReadonlyMap<string, UserErrorCode> = new Map(Object.entries(UserErrorCode));

/** An expected failure of a mutation, as `userErrors` has it. */
export interface ExpectedFailure {
  readonly code: UserErrorCode;
  readonly message: string;
  /** The names from the arguments of the mutation to the rejected value. */
  readonly path: readonly string[];
}

/** Maximum length of a `clientMutationId`. */
export const LONGEST_CLIENT_MUTATION_ID = 256;

type Resolve = GraphQLFieldResolver<
  unknown,
  RequestContext,
  { input?: { clientMutationId?: string | null } }
>;

/**
 * Returns expected failures as a payload with `userErrors` where the operation selects them. Then the payload has no `result`, and
 * its fields that are never null fail with the error itself.
 */
export function withUserErrors(resolve: Resolve): Resolve {
  return async (source, given, context, info) => {
    try {
      const payload = { ...((await resolve(source, given, context, info)) as object), userErrors: [] };
      return Object.assign(payload, { result: payload });
    } catch (error) {
      const failure = asServiceError(error);
      const code = failure === null ? undefined : CODES.get(failure.code);
      if (failure === null || code === undefined || !selects(info, 'userErrors')) throw error;
      countError(failure.code);
      const id = given.input?.clientMutationId ?? null;
      const clientMutationId = id !== null && id.length <= LONGEST_CLIENT_MUTATION_ID ? id : null;
      return {
        ...failedFields(info, failure),
        clientMutationId,
        result: null,
        userErrors: [describe(code, failure)],
      };
    }
  };
}

function describe(
  code: UserErrorCode,
  { message, details: { argument = 'input' } }: ServiceError,
): ExpectedFailure {
  const path = argument === 'input' ? [argument] : ['input', argument];
  return { code, message, path };
}

function failedFields(
  { returnType }: GraphQLResolveInfo,
  failure: ServiceError,
): Record<string, () => never> {
  const payload = getNamedType(returnType) as GraphQLObjectType;
  const fail = () => {
    throw failure;
  };
  return Object.fromEntries(Object.keys(payload.getFields()).map((name) => [name, fail]));
}
