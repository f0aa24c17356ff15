import { type CanActivate, type ExecutionContext, Injectable, type OnModuleInit } from '@nestjs/common';
import type { GqlContextType } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../common/errors.js';
import { decideAccess, declaredAccess, scopesOf, principalOf } from './access.js';
import { scopeNeeded, UnauthenticatedError } from './authentication.error.js';
import { grantedScopes } from './principal.js';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** Refuses routes and root fields that the declared access does not allow, and all that declare none. A global guard. */
@Injectable()
export class ScopesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const access = declaredAccess(context.getHandler(), context.getClass());
    if (access === undefined) return false;
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

/** Refuses to start with a route whose controller and method do not declare what it requires of a token. */
@Injectable()
export class DeclaredRoutes implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    const problems = this.discovery
      .getControllers()
      .flatMap(({ metatype }) => problemsOf(metatype, this.scanner));
    if (problems.length > 0) throw new Error(`The routes are not complete:\n${problems.join('\n')}`);
  }
}

function problemsOf(controller: unknown, scanner: MetadataScanner): string[] {
  if (typeof controller !== 'function') return [];
  const prototype = controller.prototype as Record<string, object>;
  return scanner.getAllMethodNames(prototype).flatMap((name) => {
    const method = prototype[name];
    if (method === undefined || !Reflect.hasMetadata(PATH_METADATA, method)) return [];
    const access = declaredAccess(method, controller);
    if (access !== undefined && access.kind !== 'inherited') return [];
    return [
      `The route ${controller.name}.${name} does not declare its access: @Public, @RequireToken or @RequireScopes`,
    ];
  });
}
