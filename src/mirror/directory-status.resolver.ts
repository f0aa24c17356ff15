import { Field, ObjectType, Query, registerEnumType, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../auth/access.js';
import { DateTime } from '../graphql/scalars.js';
import { MirrorState, SyncState } from './mirror-state.js';

registerEnumType(SyncState, {
  name: 'SyncState',
  description: 'How synchronisation with the directory is doing.',
  valuesMap: {
    NEVER_RUN: { description: 'Nothing has been read from the directory yet.' },
    IDLE: { description: 'The answers are those of the directory, as of `asOf`.' },
    RUNNING: { description: 'A change is being taken over; answers are as of `asOf` until it is done.' },
    FAILING: { description: 'The directory cannot be read; answers stay as of `asOf`.' },
    BLOCKED: {
      description: 'A change was held because it would delete too much; answers stay as of `asOf`.',
    },
  },
});

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
      'Why synchronisation fails or has stopped itself, for instance because it would delete too much.',
  })
  blockedReason!: string | null;
}

@Resolver()
export class DirectoryStatusResolver {
  constructor(private readonly state: MirrorState) {}

  @Public()
  @Query(() => DirectoryStatus, {
    description: 'How fresh the answers are, and whether anything keeps them from being fresher.',
  })
  async directoryStatus(): Promise<DirectoryStatus> {
    const { state, asOf, reason } = await this.state.get();
    return { state, asOf, blockedReason: reason };
  }
}
