import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { GqlContextType } from '@nestjs/graphql';
import type { FastifyRequest } from 'fastify';
import type { GraphQLResolveInfo } from 'graphql';
import { ServiceError } from '../common/errors.js';
import { type Access, declaredAccess, hasScopes, principalOf, scopesOf } from './access.js';
import { scopeNeeded, UnauthenticatedError } from './authentication.error.js';
import { grantedScopes, type Principal } from './principal.js';

/**
 * Refuses routes and root fields that the declared access does not allow, and all that declare none. A global guard. The fields whose
 * methods are called without Nest's pipeline have the same check in the schema (src/graphql/schema/schema.ts).
 */
@Injectable()
export class ScopesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const access = declaredAccess(context.getHandler(), context.getClass());
    // A route is part of no object of which it could inherit the access.
    if (access === undefined || (access.kind === 'inherited' && context.getType() === 'http')) return false;
    const refusal = accessRefusal(access, principalOf(context), nameOf(context));
    if (refusal !== null) throw refusal;
    return true;
  }
}

/** Why a principal may not use a field, a route or a member of an input; null if it may. `what` is the subject of a sentence. */
export function accessRefusal(access: Access, principal: Principal | null, what: string) {
  if (access.kind === 'public' || access.kind === 'inherited') return null;
  const requiredScopes = scopesOf(access);
  if (principal === null) return UnauthenticatedError.tokenNeeded(what, requiredScopes);
  if (hasScopes(principal, requiredScopes)) return null;
  const details = { requiredScopes, grantedScopes: grantedScopes(principal) };
  return new ServiceError('INSUFFICIENT_SCOPE', scopeNeeded(what, requiredScopes), details);
}

function nameOf(context: ExecutionContext): string {
  if (context.getType<GqlContextType>() === 'graphql') {
    const { parentType, fieldName } = context.getArgByIndex<GraphQLResolveInfo>(3);
    return `The field ${parentType.name}.${fieldName}`;
  }
  const { method, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
  return `The route ${method} ${routeOptions.url}`;
}
