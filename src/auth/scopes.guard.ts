import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { GqlContextType } from '@nestjs/graphql';
import type { FastifyRequest } from 'fastify';
import type { GraphQLResolveInfo } from 'graphql';
import { ServiceError } from '../common/errors.js';
import { decideAccess, declaredAccess, principalOf, scopesOf } from './access.js';
import { scopeNeeded, UnauthenticatedError } from './authentication.error.js';
import { grantedScopes } from './principal.js';

/** Refuses routes and root fields that the declared access does not allow, and all that declare none. A global guard. */
@Injectable()
export class ScopesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const access = declaredAccess(context.getHandler(), context.getClass());
    // A route is part of no object of which it could inherit the access.
    if (access === undefined || (access.kind === 'inherited' && context.getType() === 'http')) return false;
    const principal = principalOf(context);
    switch (decideAccess(access, principal)) {
      case 'granted':
        return true;
      case 'token needed':
        throw UnauthenticatedError.tokenNeeded(nameOf(context), scopesOf(access));
      case 'scope needed':
        throw new ServiceError('INSUFFICIENT_SCOPE', scopeNeeded(nameOf(context), scopesOf(access)), {
          requiredScopes: scopesOf(access),
          grantedScopes: grantedScopes(principal),
        });
    }
  }
}

function nameOf(context: ExecutionContext): string {
  if (context.getType<GqlContextType>() === 'graphql') {
    const { parentType, fieldName } = context.getArgByIndex<GraphQLResolveInfo>(3);
    return `The field ${parentType.name}.${fieldName}`;
  }
  const { method, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
  return `The route ${method} ${routeOptions.url}`;
}
