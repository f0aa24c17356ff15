import { applyDecorators, type Type } from '@nestjs/common';
import { Mutation } from '@nestjs/graphql';
import { RequireScopes } from '../auth/access.js';

/** Declares a mutation, all of which are previews. It is nullable, so that others of the operation can succeed. */
export function Preview(
  payload: Type,
  description: string,
  scopes: Readonly<Parameters<typeof RequireScopes>> = ['write'],
): MethodDecorator {
  return applyDecorators(
    RequireScopes(...scopes),
    Mutation(() => payload, { nullable: true, description }),
  );
}
