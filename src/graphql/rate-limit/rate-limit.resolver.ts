import { Args, Context, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { Public } from '../../auth/access.js';
import { CachePolicy } from '../cache/response-cache.js';
import type { RequestContext } from '../http/request-context.js';
import { Shown } from '../schema/connection.js';
import { DateTime } from '../schema/derived-fields.js';
import type { RateLimitState } from './rate-limiter.js';

@ObjectType({ description: 'The cost of this operation and the state of the rate limit.' })
export class RateLimit {
  @Shown(() => Int, 'The number of points per hour.')
  limit!: number;

  @Shown(() => Int, 'The cost of this operation in points: one for every 100 requested nodes, at least one.')
  cost!: number;

  @Shown(() => Int, 'The number of points that remain after this operation.')
  remaining!: number;

  @Shown(() => DateTime, 'The time at which all points are available again.')
  resetAt!: Date;

  @Shown(
    () => Int,
    'The maximum number of nodes that this operation can return: the page sizes of its connections, ' +
      'multiplied where connections are nested.',
  )
  nodeCount!: number;

  @Shown(() => Int, 'The number of nodes that an operation can request.')
  nodeLimit!: number;

  @Shown(
    () => String,
    'The connection or list that requests most of the nodes, as its path in the response, such as ' +
      '`users.nodes.groups`. Null if the operation requests no nodes.',
    { nullable: true },
  )
  largestConnection!: string | null;

  @Shown(
    () => String,
    'The message of the error QUERY_TOO_COMPLEX that the operation would cause because of its depth, nodes or ' +
      'values. Null if it would not, and therefore without `dryRun`.',
    { nullable: true },
  )
  rejection!: string | null;

  @Shown(() => Int, 'The number of requests per minute.')
  requestLimit!: number;

  @Shown(() => Int, 'The number of requests that remain in this minute after this one.')
  requestsRemaining!: number;

  @Shown(() => DateTime, 'The time at which all requests are available again.')
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
    @Context() { request: { validated, rateLimits } }: RequestContext,
  ): RateLimit {
    const [requests, points] = rateLimits ?? [];
    if (validated === null || requests === undefined || points === undefined)
      throw new Error('The operation has not been charged');
    const resetAt = ({ reset }: RateLimitState) => new Date(Date.now() + 1000 * reset);
    return {
      ...validated.decision.cost,
      cost: validated.decision.cost.points,
      limit: points.limit.amount,
      remaining: points.remaining,
      resetAt: resetAt(points),
      requestLimit: requests.limit.amount,
      requestsRemaining: requests.remaining,
      requestsResetAt: resetAt(requests),
    };
  }
}
