import { Args, Context, Field, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../../auth/access.js';
import { CachePolicy } from '../cache/cache-policy.decorator.js';
import type { RequestContext } from '../http/request-context.js';
import { DateTime } from '../schema/scalars.js';

@ObjectType({ description: 'The cost of this operation and the state of the rate limit.' })
export class RateLimit {
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

  @InheritAccess()
  @Field(() => Int, { description: 'The number of nodes that an operation can request.' })
  nodeLimit!: number;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description:
      'The connection or list that requests most of the nodes, as its path in the response, such as ' +
      '`users.nodes.groups`. Null if the operation requests no nodes.',
  })
  largestConnection!: string | null;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description:
      'The message of the error QUERY_TOO_COMPLEX that the operation would cause because of its depth, nodes or ' +
      'values. Null if it would not, and therefore without `dryRun`.',
  })
  rejection!: string | null;

  @InheritAccess()
  @Field(() => Int, { description: 'The number of requests per minute.' })
  requestLimit!: number;

  @InheritAccess()
  @Field(() => Int, { description: 'The number of requests that remain in this minute after this one.' })
  requestsRemaining!: number;

  @InheritAccess()
  @Field(() => DateTime, { description: 'The time at which all requests are available again.' })
  requestsResetAt!: Date;
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
        'If true, the service computes the cost and executes no other field, also if the operation is too complex. ' +
        'No points are charged.',
    })
    _dryRun: boolean,
    @Context() context: RequestContext,
  ): RateLimit {
    const { cost, request } = context;
    const [requests, points] = request.rateLimits ?? [];
    if (cost === null || requests === undefined || points === undefined)
      throw new Error('The operation has not been charged');
    return {
      ...cost,
      cost: cost.points,
      limit: points.limit.amount,
      remaining: points.remaining,
      resetAt: new Date(points.resetAt),
      requestLimit: requests.limit.amount,
      requestsRemaining: requests.remaining,
      requestsResetAt: new Date(requests.resetAt),
    };
  }
}
