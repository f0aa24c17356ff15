import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { GqlContextType } from '@nestjs/graphql';
import type { FastifyRequest } from 'fastify';
import type { Principal } from './principal.js';

/** The principal of the request, as a parameter of a resolver or a controller; null if the request has no token. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext) =>
  principalOf(context),
);

export function principalOf(context: ExecutionContext): Principal | null {
  return context.getType<GqlContextType>() === 'graphql'
    ? context.getArgByIndex<{ principal: Principal | null }>(2).principal
    : context.switchToHttp().getRequest<FastifyRequest>().principal;
}
