import type { GraphQLFieldResolver } from 'graphql';
import { asServiceError, BadUserInputError, type ServiceError } from '../../common/errors.js';
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
const LONGEST_CLIENT_MUTATION_ID = 256;

type Resolve = GraphQLFieldResolver<
  unknown,
  RequestContext,
  { input?: { clientMutationId?: string | null } }
>;

/**
 * Runs a mutation as one change in the preview transaction of its operation. An expected failure undoes it, and is data: the payload
 * then has `userErrors`, and no objects.
 */
export function asPreview(resolve: Resolve): Resolve {
  return async (source, given, context, info) => {
    const id = given.input?.clientMutationId ?? null;
    const isTooLong = id !== null && id.length > LONGEST_CLIENT_MUTATION_ID;
    try {
      const payload = await context.change(async () => {
        const made = (await resolve(source, given, context, info)) as object;
        if (!isTooLong) return made;
        const message = `clientMutationId has more than ${LONGEST_CLIENT_MUTATION_ID} characters`;
        throw new BadUserInputError(message, 'clientMutationId');
      });
      return { ...payload, clientMutationId: id, userErrors: [] };
    } catch (error) {
      const failure = asServiceError(error);
      const code = failure === null ? undefined : CODES.get(failure.code);
      if (failure === null || code === undefined) throw error;
      countError(failure.code);
      return { clientMutationId: isTooLong ? null : id, userErrors: [describe(code, failure)] };
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
