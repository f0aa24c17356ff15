import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { GqlExecutionContext } from '@nestjs/graphql';
import type { Principal } from '../../auth/principal.js';
import type { RequestContext } from './request-context.js';

/** Who asks, for a resolver's parameter; null: nobody said. */
export const CurrentPrincipal = createParamDecorator(
  (_: unknown, context: ExecutionContext): Principal | null => {
    return GqlExecutionContext.create(context).getContext<RequestContext>().principal;
  },
);
