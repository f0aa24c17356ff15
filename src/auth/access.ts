import { foldId } from '../common/identity.js';
import { OUTSIDER, type Viewer } from '../database/visibility/viewer.js';
import { Extensions, type GqlContextType } from '@nestjs/graphql';
import type { Principal, Scope } from './principal.js';
import type { BuiltInScope } from '../config/scopes.js';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** What a field or a route requires of a token. Declared beside the field, or on the controller or its method. */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'token' }
  | { readonly kind: 'inherited' }
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[] };

/** Metadata key of the declaration on a class or a method. */
const ACCESS = 'directory:access';

/** The method that resolves a field, as its declaration has recorded it. */
export interface ResolverMethod {
  readonly class: abstract new (...given: never[]) => unknown;
  readonly name: string;
}

/** No token is required. A route does not read one either. */
export const Public = () => declare({ kind: 'public' });

/** Any valid token is enough, with any scopes. */
export const RequireToken = () => declare({ kind: 'token' });

/** The token must have all of these scopes. */
export const RequireScopes = (...scopes: [BuiltInScope, ...BuiltInScope[]]) =>
  declare({ kind: 'scopes', scopes });

/** Access to the object is enough. Not for root fields and routes. */
export const InheritAccess = () => declare({ kind: 'inherited' });

/** The declaration of a method, or else that of its class. */
export function declaredAccess(method: object, type: object): Access | undefined {
  return (Reflect.getMetadata(ACCESS, method) ?? Reflect.getMetadata(ACCESS, type)) as Access | undefined;
}

export function hasScopes(principal: Principal, required: readonly Scope[]): boolean {
  return required.every((scope) => principal.scopes.has(scope));
}

export function scopesOf(access: Access): readonly Scope[] {
  return access.kind === 'scopes' ? access.scopes : [];
}

/**
 * For whom a principal reads the mirror.
 * @param bypass the scope of tokens that see everything; null: there is none
 */
export function viewerOf(principal: Principal | null, bypass: string | null): Viewer {
  if (principal === null) return OUTSIDER;
  const { subject, scopes, limitedTo = null } = principal;
  return {
    id: subject === null ? null : foldId(subject),
    seesHidden: bypass !== null && scopes.has(bypass),
    limitedTo,
  };
}

/** Guards read the declaration from the metadata, and the schema carries it in the extensions of the field. */
function declare(access: Access): ClassDecorator & MethodDecorator & PropertyDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor) => {
    const method = descriptor?.value as object | undefined;
    Reflect.defineMetadata(ACCESS, access, method ?? target);
    if (property === undefined) return;
    const resolver = method && { class: target.constructor, name: String(property) };
    Extensions({ access, ...(resolver && { resolver }) })(target, property);
  };
}

/** The principal of the request, as a parameter of a resolver or a controller; null if the request has no token. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext) =>
  principalOf(context),
);

export function principalOf(context: ExecutionContext): Principal | null {
  return context.getType<GqlContextType>() === 'graphql'
    ? context.getArgByIndex<{ principal: Principal | null }>(2).principal
    : context.switchToHttp().getRequest<FastifyRequest>().principal;
}
