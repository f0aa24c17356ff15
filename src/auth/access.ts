import { Extensions } from '@nestjs/graphql';
import type { Scope } from './scopes.js';

/** What it takes to select a field. Declared beside the field, and read from the finished schema. */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'token' }
  | { readonly kind: 'inherited' }
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[] };

/** The field needs no token at all. */
export function Public(): MethodDecorator & PropertyDecorator {
  return declare({ kind: 'public' });
}

/** Any valid token will do, whatever its scopes. */
export function RequireToken(): MethodDecorator & PropertyDecorator {
  return declare({ kind: 'token' });
}

/** The token needs all of these scopes. */
export function RequireScopes(...scopes: [Scope, ...Scope[]]): MethodDecorator & PropertyDecorator {
  return declare({ kind: 'scopes', scopes });
}

/** Whoever reached the object may read the field. */
export function InheritAccess(): MethodDecorator & PropertyDecorator {
  return declare({ kind: 'inherited' });
}

function declare(access: Access): MethodDecorator & PropertyDecorator {
  return Extensions({ access });
}
