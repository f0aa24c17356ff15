import { Inject } from '@nestjs/common';
import { ObjectType, Query, registerEnumType, Resolver } from '@nestjs/graphql';
import { Public, CurrentPrincipal, hasScopes, viewerOf } from '../../auth/access.js';
import type { Principal } from '../../auth/principal.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { hasRules } from '../../config/model/mapping.js';
import { seesEverything } from '../../database/visibility/viewer.js';
import { CachePolicy } from '../../graphql/cache/response-cache.js';
import { Shown } from '../../graphql/schema/connection.js';
import { DateTime } from '../../graphql/schema/derived-fields.js';
import { HintMode } from '../../sources/directory.js';
import {
  AWAITS_RULES,
  awaitsRules,
  describeTrouble,
  MirrorState,
  type MirrorStatus,
  SyncState,
} from './mirror-state.js';

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

registerEnumType(HintMode, {
  name: 'FollowMode',
  description: 'How changes of a directory server are found.',
  valuesMap: {
    PUSHED: { description: 'The server reports each change (RFC 4533).' },
    COUNTED: {
      description: 'The server numbers its changes, and is asked every second whether there is a new number.',
    },
    POLLED: { description: 'The entries of the server are compared at an interval.' },
  },
});

@ObjectType({ description: 'The state of the synchronization, and how current the responses are.' })
class DirectoryStatus {
  @Shown(() => SyncState, 'The state of the synchronization.')
  state!: SyncState;

  @Shown(
    () => DateTime,
    'The responses contain every change that was made in the directory before this instant.',
    { nullable: true },
  )
  asOf!: Date | null;

  @Shown(
    () => String,
    'The reason why synchronization fails or is blocked, for example because it would delete too many ' +
      'entries, or why rules of visibility have no effect yet. Details require the scope directory, and a viewer from whom nothing is hidden.',
    { nullable: true },
  )
  reason!: string | null;

  @Shown(() => String, 'The same as `reason`.', { nullable: true, deprecationReason: 'Use `reason`.' })
  blockedReason!: string | null;

  @Shown(
    () => HintMode,
    'How changes are found. Null for a file, and before the first synchronization run.',
    { nullable: true },
  )
  mode!: HintMode | null;

  @Shown(
    () => String,
    'Features that the directory server rejects, and what the service uses instead. Null if there are none, or if the viewer gets no details.',
    { nullable: true },
  )
  refusals!: string | null;
}

@Resolver()
export class DirectoryStatusResolver {
  constructor(
    private readonly state: MirrorState,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Public()
  @CachePolicy('request')
  @Query(() => DirectoryStatus, {
    description: 'The state of the synchronization, and how current the responses are.',
  })
  async directoryStatus(@CurrentPrincipal() principal: Principal | null): Promise<DirectoryStatus> {
    const status = await this.state.get();
    const { state, asOf, mode, refusals } = status;
    const isPermitted = principal !== null && this.seesDetails(principal);
    const reason = isPermitted ? this.reasonOf(status) : describeTrouble(status);
    return {
      ...{ state, asOf, mode, reason, blockedReason: reason },
      refusals: isPermitted ? refusals : null,
    };
  }

  private reasonOf(status: MirrorStatus): string | null {
    const { reason } = status;
    if (!awaitsRules(status, this.config.directory)) return reason;
    return reason === null ? AWAITS_RULES : `${reason}. ${AWAITS_RULES}`;
  }

  /** Details are about the whole directory, such as totals that include what is hidden from others. */
  private seesDetails(principal: Principal): boolean {
    if (!hasScopes(principal, ['directory'])) return false;
    const { mapping, visibility } = this.config.directory;
    const viewer = viewerOf(principal, visibility.bypass);
    return seesEverything(viewer) || (viewer.limitedTo === null && !hasRules(mapping));
  }
}
