import { Field, ObjectType, Query, registerEnumType, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public, CurrentPrincipal } from '../../auth/access.js';
import { hasScopes, type Principal } from '../../auth/principal.js';
import { CachePolicy } from '../../graphql/cache/cache-policy.decorator.js';
import { DateTime } from '../../graphql/schema/scalars.js';
import { describeTrouble, MirrorState, SyncState } from './mirror-state.js';

registerEnumType(SyncState, {
  name: 'SyncState',
  description: 'The state of the synchronization with the directory.',
  valuesMap: {
    NEVER_RUN: { description: 'The directory has not been read yet.' },
    IDLE: { description: 'The responses reflect the directory as of `asOf`.' },
    RUNNING: {
      description:
        'A synchronization run is in progress. Until it ends, the responses reflect the directory as of `asOf`.',
    },
    FAILING: { description: 'The directory cannot be read. The responses reflect it as of `asOf`.' },
    BLOCKED: {
      description:
        'The last run was stopped because it would delete too many entries, or because the first run found no ' +
        'users. The responses reflect the directory as of `asOf`.',
    },
  },
});

const WAITING = 'A change waits for a lock that another session of the database holds';

@ObjectType({ description: 'The freshness of the responses.' })
export class DirectoryStatus {
  @InheritAccess()
  @Field(() => SyncState, { description: 'The state of the synchronization.' })
  state!: SyncState;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description: 'The responses contain every change that was made in the directory before this instant.',
  })
  asOf!: Date | null;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description:
      'The reason why synchronization fails or is blocked, for example because it would delete too many ' +
      'entries. Details require the scope directory.',
  })
  blockedReason!: string | null;
}

@Resolver()
export class DirectoryStatusResolver {
  constructor(private readonly state: MirrorState) {}

  @Public()
  @CachePolicy('request')
  @Query(() => DirectoryStatus, {
    description: 'The freshness of the responses and the state of the synchronization.',
  })
  async directoryStatus(@CurrentPrincipal() principal: Principal | null): Promise<DirectoryStatus> {
    const status = await this.state.get();
    const { state, asOf, reason, isWaiting } = status;
    // This message contains no detail of the directory or the database, so every caller may read it.
    if (isWaiting) return { state: SyncState.RUNNING, asOf, blockedReason: WAITING };
    const isPermitted = principal !== null && hasScopes(principal, ['directory']);
    return { state, asOf, blockedReason: isPermitted ? reason : describeTrouble(status) };
  }
}
