import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import { PlanHash } from '../map/content-hash.js';
import { namedByMasksOf } from '../map/named-by.js';
import type { Quarantined } from '../map/snapshot.js';
import { countLosses, type LossCounts } from '../plan/attribute-losses.js';
import type { ChangeCounts, Plan, PlanSummary, RoleChange, StoredEntry } from '../plan/plan.js';
import type { EntryKind } from '../../sources/source.js';
import { CHANGED_GROUPS } from './apply-bulk.js';
import * as statements from './staged-statements.js';

/** Roles up to which a plan has all of them. */
const FEW_ROLES = 2000;
/** Rows that are read at once. */
const BATCH = 20_000;
const KINDS = [
  ['person', 'staged_users'],
  ['group', 'staged_groups'],
] as const;

type RoleCounts = Pick<ChangeCounts, 'memberships' | 'nestings'> & { readonly removals: number };

interface EntryCounts {
  readonly createdPeople: number;
  readonly updatedPeople: number;
  readonly deletedPeople: number;
  readonly createdGroups: number;
  readonly updatedGroups: number;
  readonly deletedGroups: number;
  readonly regrouped: number;
}

/**
 * The plan of a bulk run: tables of the session that has staged its entries. It has the same changes and the same hash as one that
 * planWhole makes.
 */
export class BulkPlan {
  private constructor(
    private readonly writer: Writer,
    readonly summary: PlanSummary,
    /** The entries that were left out because others have the same id or entryUUID. */
    readonly duplicates: readonly Quarantined[],
  ) {}

  /** @param isFirst whether the mirror is empty */
  static async make(writer: Writer, mapping: DirectoryMapping, isFirst: boolean): Promise<BulkPlan> {
    const masks = namedByMasksOf(mapping.groups);
    const run = async (...texts: readonly string[]) => {
      for (const text of texts) await writer.query(text);
    };
    await run(statements.DUPLICATES);
    const duplicates = await writer.query<Quarantined[]>(statements.READ_DUPLICATES);
    if (duplicates.length > 0) await run(...statements.WITHOUT_DUPLICATES);
    await run(statements.DELETIONS, 'analyze staged_deletions');
    const entries = await readOne<EntryCounts>(writer, statements.COUNTS);
    // Without a change of an entry, no reference changes.
    const isSame = Object.values(entries).every((count) => count === 0);
    const isCompared = !isFirst && !isSame;
    await run(
      isCompared ? statements.touchedKeys(masks) : 'create temporary table staged_touched (key uuid)',
      'analyze staged_touched',
      statements.REPLACED,
      statements.heldRoles(masks),
      statements.HELD_UNRESOLVED,
      isSame ? `${statements.SUBJECTS} limit 0` : statements.SUBJECTS,
      'analyze staged_replaced, staged_held, staged_held_unresolved, staged_subjects',
      statements.wantedRoles(masks),
      'analyze staged_wanted',
      statements.plannedRoles('person', 'planned_memberships'),
      statements.plannedRoles('group', 'planned_nestings'),
      statements.PLANNED_UNRESOLVED,
      'drop table staged_wanted, staged_held, staged_references, staged_subjects',
      'analyze planned_memberships, planned_nestings, planned_unresolved',
    );
    const roles = await readOne<RoleCounts>(writer, statements.ROLE_COUNTS);
    return new BulkPlan(writer, summaryFrom(entries, roles), duplicates);
  }

  /** The hash of the plan, as hashPlan computes it. It reads every change. */
  async readHash(): Promise<string> {
    const hash = new PlanHash();
    for (const [kind, table] of KINDS) {
      for (const isNew of [true, false]) {
        const changed = `select entry_uuid::text as uuid, content_hash as hash from ${table} where is_new = ${isNew} order by entry_uuid`;
        for await (const rows of this.batches<{ uuid: string; hash: Buffer }>(changed))
          for (const row of rows) hash.addHashed(row.uuid, row.hash);
        hash.endList();
      }
      const gone = `select uuid::text from staged_deletions where kind = '${kind}' order by staged_deletions.uuid`;
      for await (const rows of this.batches<{ uuid: string }>(gone))
        for (const { uuid } of rows) hash.addGone(uuid);
      hash.endList();
    }
    for (const table of ['memberships', 'nestings'] as const) {
      for await (const rows of this.batches<RoleChange>(`${rolesIn(table)} order by group_uuid, uuid`))
        for (const row of rows) hash.addRole(row);
      hash.endList();
    }
    return hash.digest();
  }

  async countLosses(mapping: DirectoryMapping): Promise<LossCounts> {
    const sum: Record<string, number> = {};
    const lacking = 'select kind, uuid, lacks from staged_lacking';
    for await (const rows of this.batches<{ kind: string; uuid: string; lacks: string }>(lacking)) {
      const of = (wanted: string) => rows.filter(({ kind }) => kind === wanted);
      const lost = await countLosses(this.writer, { people: of('person'), groups: of('group') }, mapping);
      for (const [key, count] of Object.entries(lost)) sum[key] = (sum[key] ?? 0) + count;
    }
    return sum;
  }

  /**
   * What identifies the changed entries, in the form of a plan: the log of changes and the roles need no more of them. Its roles
   * are complete if they are few, and otherwise left out.
   */
  async readChanged(): Promise<Plan> {
    const { memberships, nestings } = this.summary.counts;
    const isFew = totalOf(memberships) + totalOf(nestings) <= FEW_ROLES;
    return {
      createdPeople: await this.changedIn('staged_users', true),
      updatedPeople: await this.changedIn('staged_users', false),
      deletedPeople: await this.deletedOf('person'),
      createdGroups: (await this.changedIn('staged_groups', true)) as unknown as Plan['createdGroups'],
      updatedGroups: (await this.changedIn('staged_groups', false)) as unknown as Plan['updatedGroups'],
      deletedGroups: await this.deletedOf('group'),
      memberships: isFew ? await this.writer.query<RoleChange[]>(rolesIn('memberships')) : [],
      nestings: isFew ? await this.writer.query<RoleChange[]>(rolesIn('nestings')) : [],
      regrouped: [],
      unresolved: [],
      hash: '',
    };
  }

  /** The groups whose members change; null if they are few, and a plan has them. */
  async readGroups(isFirst: boolean): Promise<readonly string[] | null> {
    const { memberships, nestings } = this.summary.counts;
    if (!isFirst && totalOf(memberships) + totalOf(nestings) <= FEW_ROLES) return null;
    const rows = await this.writer.query<{ uuid: string }[]>(CHANGED_GROUPS);
    return rows.map(({ uuid }) => uuid);
  }

  private async changedIn(table: string, isNew: boolean): Promise<Plan['createdPeople']> {
    const ofMembers = table === 'staged_groups' ? ', members_visible_to as "membersVisibleTo"' : '';
    const rows = await this.writer.query<object[]>(
      `select content_hash as "contentHash", entry_uuid as uuid, id, dn_key as "dnKey", visible_to as "visibleTo"${ofMembers} from ${table}
       where is_new = ${isNew} order by place`,
    );
    return rows.map((value) => ({ value, ...value }) as unknown as Plan['createdPeople'][number]);
  }

  private deletedOf(kind: EntryKind): Promise<Plan['deletedPeople']> {
    return this.writer.query<StoredEntry[]>(`select uuid from staged_deletions where kind = '${kind}'`);
  }

  private async *batches<Row extends object>(text: string): AsyncGenerator<Row[]> {
    await this.writer.query(`declare staged_rows cursor with hold for ${text}`);
    try {
      for (;;) {
        const rows = await this.writer.query<Row[]>(`fetch ${BATCH} from staged_rows`);
        if (rows.length === 0) return;
        yield rows;
      }
    } finally {
      await this.writer.query('close staged_rows');
    }
  }
}

async function readOne<Row extends object>(writer: Writer, text: string): Promise<Row> {
  const [row] = await writer.query<Row[]>(text);
  if (row === undefined) throw new Error('The database did not count');
  return row;
}

function summaryFrom(entries: EntryCounts, { memberships, nestings, removals }: RoleCounts): PlanSummary {
  return {
    counts: {
      people: {
        created: entries.createdPeople,
        updated: entries.updatedPeople,
        deleted: entries.deletedPeople,
      },
      groups: {
        created: entries.createdGroups,
        updated: entries.updatedGroups,
        deleted: entries.deletedGroups,
      },
      memberships,
      nestings,
    },
    removals,
  };
}

function totalOf({ created, updated, deleted }: ChangeCounts['memberships']): number {
  return created + updated + deleted;
}

function rolesIn(table: 'memberships' | 'nestings'): string {
  return `select group_uuid as "group", uuid as subject, before, after from planned_${table}`;
}
