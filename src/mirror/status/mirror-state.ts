import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { hasRules, markOfRules, numberOfRules } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { Database } from '../../database/database.js';
import { IS_LEADER_WAITING } from '../../database/leadership/leader-lease.js';
import { IS_COMPLETE, NOW, statement } from '../../database/statements/statement.js';
import { parsePosition, type Position } from '../../sources/ldap/position.js';
import { fingerprintOf } from '../../sources/source.js';
import { inApplyingTransaction } from '../apply/transaction-watch.js';
import { Leadership } from '../sync/leadership.js';

export enum SyncState {
  NEVER_RUN = 'NEVER_RUN',
  IDLE = 'IDLE',
  RUNNING = 'RUNNING',
  FAILING = 'FAILING',
  BLOCKED = 'BLOCKED',
}

export interface MirrorStatus {
  readonly state: SyncState;
  readonly asOf: Date | null;
  readonly reason: string | null;
  readonly blockedPlan: string | null;
  readonly fingerprint: string | null;
  readonly revision: number | null;
  /** Identifies the revision. Its number may repeat after a failover or a restore. */
  readonly revisionId: string | null;
  readonly position: string | null;
  /** Whether the leader waits for a lock of another session. */
  readonly isWaiting: boolean;
  /** Whether the revision, or the log of changes, hides something from someone. */
  readonly hides: boolean;
  /** The time of the database at which the others were read: see readClock. */
  readonly now: Date;
}

/** The position of the mirror, if its revision is of the same source and configuration, and of one of these kinds. */
export function positionOf<Kind extends Position['kind']>(
  { revision, fingerprint, position }: MirrorStatus,
  config: DirectoryConfig,
  ...kinds: readonly Kind[]
): Extract<Position, { kind: Kind }> | null {
  if (revision === null || fingerprint !== fingerprintOf(config)) return null;
  const parsed = parsePosition(position);
  const isOfKind = parsed !== null && (kinds as readonly string[]).includes(parsed.kind);
  return isOfKind ? (parsed as Extract<Position, { kind: Kind }>) : null;
}

export const AWAITS_RULES =
  'The mirror was written with other rules of visibility. Those of the model take effect when the directory has been read: ' +
  'until then, requests of those from whom they can hide something are rejected, unless a process with the former rules leads';

/** Whether the mirror was written with other rules than those of this process, which has some. */
export function awaitsRules(
  { revision, fingerprint }: Pick<MirrorStatus, 'revision' | 'fingerprint'>,
  config: DirectoryConfig,
): boolean {
  if (!hasRules(config.mapping) || revision === null) return false;
  return fingerprint?.endsWith(markOfRules(numberOfRules(config.mapping))) !== true;
}

/** The column, or the expression, of each value. */
const COLUMNS: Readonly<Record<keyof MirrorStatus, string>> = {
  state: 'state',
  asOf: 'as_of',
  reason: 'reason',
  blockedPlan: 'blocked_plan',
  fingerprint: 'source_fingerprint',
  revision: 'revision',
  revisionId: 'revision_uuid',
  position: 'source_position',
  isWaiting: IS_LEADER_WAITING,
  hides: 'hides or hides_in_log',
  now: NOW,
};

const READ_STATUS = statement(
  `select ${Object.values(COLUMNS).join(', ')} from mirror_state where ${IS_COMPLETE}`,
);

/**
 * Returns a public reason why the data is not getting more current, or null. Unlike `reason`, it contains no
 * names of hosts, entries or files.
 */
export function describeTrouble({
  state,
  revision,
}: Pick<MirrorStatus, 'state' | 'revision'>): string | null {
  switch (state) {
    case SyncState.FAILING:
      return 'The directory cannot be read at the moment';
    case SyncState.BLOCKED:
      return revision === null
        ? 'The first run found no people in the directory, and is blocked until an operator confirms it'
        : 'A change would delete too much, and is blocked until an operator confirms it';
    default:
      return null;
  }
}

@Injectable()
export class MirrorState {
  constructor(
    private readonly database: Database,
    readonly dataSource: DataSource,
    readonly leadership: Leadership,
  ) {}

  async get(): Promise<MirrorStatus> {
    const [row = []] = await this.database.read<unknown[]>(READ_STATUS);
    const values = Object.keys(COLUMNS).map((name, index) => [name, row[index]] as const);
    return Object.fromEntries(values) as unknown as MirrorStatus;
  }

  async markRunning(): Promise<void> {
    await this.write(`update mirror_state set state = 'RUNNING'`);
  }

  /** Records that the source was checked and equals the mirror. */
  async confirmUnchanged(asOf: Date): Promise<void> {
    await this.write(
      `update mirror_state set state = 'IDLE', reason = null, blocked_plan = null, as_of = $1`,
      [asOf],
    );
    this.database.noteConfirmed();
  }

  /**
   * Restores the state from before a run that had no result. The result of a run of another process since then stays, and so does
   * the state of one that has not ended.
   */
  async restore({ state, reason, blockedPlan }: MirrorStatus): Promise<void> {
    if (state === SyncState.RUNNING) return;
    await this.write(
      `update mirror_state set state = $1, reason = $2, blocked_plan = $3 where state = 'RUNNING'`,
      [state, reason, blockedPlan],
    );
  }

  async markFailing(reason: string): Promise<void> {
    await this.write(`update mirror_state set state = 'FAILING', reason = $1, blocked_plan = null`, [reason]);
  }

  async markBlocked(reason: string, plan: string): Promise<void> {
    await this.write(`update mirror_state set state = 'BLOCKED', reason = $1, blocked_plan = $2`, [
      reason,
      plan,
    ]);
  }

  /** A process that is no longer the leader must not write the state of the synchronization either. */
  private async write(text: string, values: unknown[] = []): Promise<void> {
    await inApplyingTransaction(this, (manager) => manager.query(text, values));
  }
}
