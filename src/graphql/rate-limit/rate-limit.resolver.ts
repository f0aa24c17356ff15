import { Args, Context, Field, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../../auth/access.js';
import { CachePolicy } from '../cache/cache-policy.decorator.js';
import type { Charge, RequestContext } from '../http/request-context.js';
import { DateTime } from '../schema/scalars.js';

@ObjectType({ description: 'The cost of this operation and the state of the rate limit.' })
export class RateLimit implements Charge {
  @InheritAccess()
  @Field(() => Int, { description: 'The number of points per hour.' })
  limit!: number;

  @InheritAccess()
  @Field(() => Int, {
    description: 'The cost of this operation in points: one for every 100 requested nodes, at least one.',
  })
  cost!: number;

  @InheritAccess()
  @Field(() => Int, { description: 'The number of points that remain after this operation.' })
  remaining!: number;

  @InheritAccess()
  @Field(() => DateTime, { description: 'The time at which all points are available again.' })
  resetAt!: Date;

  @InheritAccess()
  @Field(() => Int, {
    description:
      'The maximum number of nodes that this operation can return: the page sizes of its connections, ' +
      'multiplied where connections are nested.',
  })
  nodeCount!: number;
}

@Resolver()
export class RateLimitResolver {
  @Public()
  @CachePolicy('request')
  @Query(() => RateLimit, { description: 'The cost of this operation and the state of the rate limit.' })
  rateLimit(
    @Args('dryRun', {
      type: () => Boolean,
      nullable: true,
      defaultValue: false,
      description:
        'If true, the service computes the cost and executes no other field. No points are charged.',
    })
    _dryRun: boolean,
    @Context() context: RequestContext,
  ): Charge | null {
    return context.charge;
  }
}
