import { Field, ObjectType, Query, registerEnumType, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public, CurrentPrincipal } from '../../auth/access.js';
import { hasScopes, type Principal } from '../../auth/principal.js';
import { CachePolicy } from '../../graphql/cache/cache-policy.decorator.js';
import { DateTime } from '../../graphql/schema/scalars.js';
import { describeTrouble, MirrorState, SyncState } from './mirror-state.js';

registerEnumType(SyncState, {
  name: 'SyncState',
  description: 'How synchronisation with the directory is doing.',
  valuesMap: {
    NEVER_RUN: { description: 'Nothing has been read from the directory yet.' },
    IDLE: { description: 'The answers are those of the directory, as of `asOf`.' },
    RUNNING: { description: 'A change is being taken over; answers are as of `asOf` until it is done.' },
    FAILING: { description: 'The directory cannot be read; answers stay as of `asOf`.' },
    BLOCKED: {
      description:
        'A change was held because it would delete too much, or a first reading because it found no people; answers stay as of `asOf`.',
    },
  },
});

const WAITING = 'A change waits for a lock that another session of the database holds';

@ObjectType({ description: 'How fresh the answers are.' })
export class DirectoryStatus {
  @InheritAccess()
  @Field(() => SyncState, { description: 'How synchronisation is doing.' })
  state!: SyncState;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description: 'Every change made in the directory before this instant is in the answers.',
  })
  asOf!: Date | null;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description:
      'Why synchronisation fails or has stopped itself, for instance because it would delete too much. The details are for tokens with the scope directory.',
  })
  blockedReason!: string | null;
}

@Resolver()
export class DirectoryStatusResolver {
  constructor(private readonly state: MirrorState) {}

  @Public()
  @CachePolicy('request')
  @Query(() => DirectoryStatus, {
    description: 'How fresh the answers are, and whether anything keeps them from being fresher.',
  })
  async directoryStatus(@CurrentPrincipal() principal: Principal | null): Promise<DirectoryStatus> {
    const status = await this.state.get();
    const { state, asOf, reason, waitingSince } = status;
    // This message contains no detail of the directory or the database, so every caller may read it.
    if (waitingSince !== null) return { state: SyncState.RUNNING, asOf, blockedReason: WAITING };
    const isPermitted = principal !== null && hasScopes(principal, ['directory']);
    return { state, asOf, blockedReason: isPermitted ? reason : describeTrouble(status) };
  }
}
