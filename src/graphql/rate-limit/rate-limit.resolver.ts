import { Args, Context, Field, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../../auth/access.js';
import { DependsOn } from '../cache/cache-policy.decorator.js';
import type { Charge, RequestContext } from '../http/request-context.js';
import { DateTime } from '../schema/scalars.js';

@ObjectType({ description: 'What this operation costs, and what you have left.' })
export class RateLimit implements Charge {
  @InheritAccess()
  @Field(() => Int, { description: 'Points that you may spend in an hour.' })
  limit!: number;

  @InheritAccess()
  @Field(() => Int, {
    description: 'Points that this operation costs: one for each 100 requested nodes, at least one.',
  })
  cost!: number;

  @InheritAccess()
  @Field(() => Int, { description: 'Points that you have left once this operation is paid.' })
  remaining!: number;

  @InheritAccess()
  @Field(() => DateTime, { description: 'When you have all points again.' })
  resetAt!: Date;

  @InheritAccess()
  @Field(() => Int, {
    description:
      'Nodes that this operation can give at most: the page sizes of connections, multiplied where they nest.',
  })
  nodeCount!: number;
}

@Resolver()
export class RateLimitResolver {
  @Public()
  @DependsOn('request')
  @Query(() => RateLimit, { description: 'The price of this operation and your standing with the limits.' })
  rateLimit(
    @Args('dryRun', {
      type: () => Boolean,
      nullable: true,
      defaultValue: false,
      description: 'Prices the operation and runs nothing else of it; nothing is taken.',
    })
    _dryRun: boolean,
    @Context() context: RequestContext,
  ): Charge | null {
    return context.charge;
  }
}
