import { Injectable } from '@nestjs/common';
import { type DirectoryMapping, hasRules, markOfRules, numberOfRules } from '../../config/model/mapping.js';
import { Database } from '../../database/database.js';
import { NOW, statement, type Writer } from '../../database/statements/statement.js';
import type { HintMode } from '../../sources/directory.js';
import { DataSource } from 'typeorm';

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
  /** How changes are noticed; null for a file, and before the first scan. */
  readonly mode: HintMode | null;
  /** What the server refuses. */
  readonly refusals: string | null;
  /** The time of the database at which the others were read: see readClock. */
  readonly now: Date;
}

export const AWAITS_RULES =
  'The mirror was written with other rules of visibility. Those of the model take effect when the directory has been read: ' +
  'until then, requests of those from whom they can hide something are rejected, unless a process with the former rules leads';

/** Whether the mirror was written with other rules than those of this process, which has some. */
export function awaitsRules(
  { revision, fingerprint }: Pick<MirrorStatus, 'revision' | 'fingerprint'>,
  { mapping }: { readonly mapping: DirectoryMapping },
): boolean {
  if (!hasRules(mapping) || revision === null) return false;
  return fingerprint?.endsWith(markOfRules(numberOfRules(mapping))) !== true;
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
  mode: 'mode',
  refusals: 'refusals',
  now: NOW,
};

const READ_STATUS = statement(`select ${Object.values(COLUMNS).join(', ')} from mirror_state`);

/** Why the data is not getting more current, without names of hosts, entries or files; null if it is. */
export function describeTrouble({
  state,
  revision,
}: Pick<MirrorStatus, 'state' | 'revision'>): string | null {
  switch (state) {
    case SyncState.FAILING:
      return 'The directory cannot be read at the moment';
    case SyncState.BLOCKED:
      return revision === null
        ? 'The first run found no users in the directory, and is blocked until an operator confirms it'
        : 'A change would delete too much, and is blocked until an operator confirms it';
    default:
      return null;
  }
}

/** The state of the mirror in the database. What a process writes is ignored when it no longer leads: `leader` is its number. */
@Injectable()
export class MirrorState {
  constructor(
    private readonly database: Database,
    private readonly dataSource: DataSource,
  ) {}

  async get(): Promise<MirrorStatus> {
    const [row = []] = await this.database.read<unknown[]>(READ_STATUS);
    const values = Object.keys(COLUMNS).map((name, index) => [name, row[index]] as const);
    return Object.fromEntries(values) as unknown as MirrorStatus;
  }

  /** Whether there are groups whose members the server may find by a search: they have an LDAP URL of the same server (RFC 4516). */
  async hasDynamicGroups(writer: Writer): Promise<boolean> {
    const rows = await writer.query<object[]>(
      `select from entries where kind = 'group'
         and attributes ?| array['labeleduri', 'memberurl'] and attributes::text like '%ldap:///%' limit 1`,
    );
    return rows.length > 0;
  }

  /** Records that the mirror equals the directory as of a time, unless a command has found changes that are held. */
  async confirm(asOf: Date, leader: number): Promise<void> {
    await this.dataSource.query(
      `update mirror_state set state = 'IDLE', reason = null, blocked_plan = null, as_of = $1
       where leader = $2 and state <> 'BLOCKED'`,
      [asOf, leader],
    );
    this.database.revisions.ask();
  }

  async markFailing(reason: string, leader: number): Promise<void> {
    await this.dataSource.query(
      `update mirror_state set state = 'FAILING', reason = $1, blocked_plan = null where leader = $2`,
      [reason, leader],
    );
  }
}
