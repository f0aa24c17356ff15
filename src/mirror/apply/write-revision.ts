import type { Revision } from '../../database/revisions/revision.js';
import { Values, type Writer } from '../../database/statements/statement.js';
import type { Application } from './application.js';
import { CHANGE_COLUMNS, CHANGE_ORDER } from './change-statements.js';

/** Adds its values and returns SQL; null: there is nothing. */
type Part = (values: Values) => string | null;

export interface WrittenRevision extends Revision {
  /** Number of changes in the log. */
  readonly changes: number;
}

/**
 * Writes a revision and its changes.
 * @param changed selects what has changed: see selectChanged. Null: everything
 * @param recorded selects the changes for the log: see selectRecorded
 */
export async function writeRevision(
  writer: Writer,
  { summary, confirmed }: Pick<Application, 'summary' | 'confirmed'>,
  now: Date,
  { changed, recorded }: { readonly changed: Part; readonly recorded: Part },
): Promise<WrittenRevision> {
  const { people, groups, memberships } = summary.counts;
  const values = new Values();
  const row = [
    ...[now, people.created, people.updated, people.deleted, groups.created, groups.updated, groups.deleted],
    ...[memberships.created, memberships.updated, summary.removals, confirmed],
  ].map((value) => values.add(value));
  const logged = recorded(values);
  const [revision]: WrittenRevision[] = await writer.query(
    `with revision as (
       insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated,
         groups_deleted, memberships_added, memberships_changed, memberships_removed, confirmed, changed)
       values (${row.join(', ')}, (${changed(values) ?? 'null'})) returning id, uuid)${logged === null ? '' : log(logged)}
     select id as number, uuid as id, ${logged === null ? '0' : '(select count(*)::integer from recorded)'} as changes
     from revision`,
    [...values.all],
  );
  if (revision === undefined) throw new Error('The revision was not written');
  return revision;
}

/**
 * No change is earlier than one before it, even if the clock of the database goes back. Ids continue at the microseconds of the
 * clock: after a restore or a failover, a change does not get the id of a lost one, by which clients would take it for known.
 */
const log = (recorded: string) => `,
  stamp as materialized (
    select r.id as revision, (select greatest(clock_timestamp()::timestamptz(3), max(c.at)) from changes c) as at,
      setval('changes_id_seq', greatest(s.last_value, (extract(epoch from clock_timestamp()) * 1000000)::bigint)) as number
    from revision r, changes_id_seq s),
  recorded as (
    insert into changes (revision, at, ${CHANGE_COLUMNS.join(', ')})
    select stamp.revision, stamp.at, ${CHANGE_COLUMNS.map((column) => `each.${column}`).join(', ')}
    from (${recorded}) each, stamp
    order by ${CHANGE_ORDER.map((column) => `each.${column}`).join(', ')}
    returning 1)`;
