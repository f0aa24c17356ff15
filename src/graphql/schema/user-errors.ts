import { ObjectType, registerEnumType } from '@nestjs/graphql';
import type { GraphQLFieldResolver } from 'graphql';
import { asServiceError, BadUserInputError } from '../../common/errors.js';
import { countError } from '../errors/error-response.js';
import type { RequestContext } from '../http/request-context.js';
import { Shown } from './connection.js';

/** The codes of failures that a client can foresee. */
export enum UserErrorCode {
  BAD_USER_INPUT = 'BAD_USER_INPUT',
  CONFLICT = 'CONFLICT',
  FORBIDDEN = 'FORBIDDEN',
  NOT_FOUND = 'NOT_FOUND',
}

const CODES: ReadonlyMap<string, UserErrorCode> = new Map(Object.entries(UserErrorCode));

registerEnumType(UserErrorCode, {
  name: 'UserErrorCode',
  description: 'The failures of a mutation that a client can foresee.',
  valuesMap: {
    BAD_USER_INPUT: { description: 'A value of the input is not valid, or nothing would change.' },
    CONFLICT: { description: 'The directory would reject or misunderstand the change.' },
    FORBIDDEN: { description: 'The user for whom the token acts may not make the change.' },
    NOT_FOUND: { description: 'An object that the input names does not exist.' },
  },
});

@ObjectType({ description: 'An expected failure of a mutation.' })
export class UserError {
  @Shown(() => UserErrorCode, 'The kind of the failure.')
  code!: UserErrorCode;

  @Shown(() => String, 'The failure in English, for people. It may change.')
  message!: string;

  @Shown(
    () => [String],
    'The names that lead from the arguments of the mutation to the rejected value, such as `input`, `email`.',
  )
  path!: string[];
}

/** Maximum length of a `clientMutationId`. */
const LONGEST_CLIENT_MUTATION_ID = 256;

type Resolve = GraphQLFieldResolver<unknown, RequestContext>;

/**
 * Runs a mutation as one change in the preview transaction of its operation. An expected failure undoes it, and is data: the payload
 * then has `userErrors`, and no objects.
 */
export function asPreview(resolve: Resolve): Resolve {
  return async (source, given: { input?: { clientMutationId?: string | null } }, context, info) => {
    const id = given.input?.clientMutationId ?? null;
    const isTooLong = id !== null && id.length > LONGEST_CLIENT_MUTATION_ID;
    const clientMutationId = isTooLong ? null : id;
    try {
      if (isTooLong) {
        const message = `clientMutationId has more than ${LONGEST_CLIENT_MUTATION_ID} characters`;
        throw new BadUserInputError(message, 'clientMutationId');
      }
      const payload = await context.change(
        async () => (await resolve(source, given, context, info)) as object,
      );
      return { ...payload, clientMutationId, userErrors: [] };
    } catch (error) {
      const failure = asServiceError(error);
      const code = failure === null ? undefined : CODES.get(failure.code);
      if (failure === null || code === undefined) throw error;
      countError(failure.code);
      const { argument = 'input' } = failure.details;
      const path = [...new Set(['input', argument])];
      return { clientMutationId, userErrors: [{ code, message: failure.message, path }] };
    }
  };
}
