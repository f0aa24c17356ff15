import type { GraphQLField } from 'graphql';
import type { Access } from '../../auth/access.js';

/** What a token needs for a field, in Markdown; null: nothing besides what led to it. */
export function describeAccess(field: GraphQLField<unknown, unknown>): string | null {
  const access = field.extensions['access'] as Access;
  switch (access.kind) {
    case 'public':
      return 'Needs no token.';
    case 'token':
      return 'Needs a token, whatever its scopes.';
    case 'inherited':
      return null;
    case 'scopes':
      return `Needs the ${access.scopes.length === 1 ? 'scope' : 'scopes'} ${access.scopes.map((scope) => `\`${scope}\``).join(' and ')}.`;
  }
}
