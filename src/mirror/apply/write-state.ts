import { hasRules } from '../../config/model/mapping.js';
import {
  type Announcement,
  MAX_PAYLOAD_BYTES,
  REVISION_CHANNEL,
} from '../../database/revisions/announcement.js';
import { Values, type Writer } from '../../database/statements/statement.js';
import { unnest } from '../../database/statements/unnest.js';
import { HIDES_CHANGES, HIDES_SOMETHING } from '../../database/visibility/visible-tables.js';
import type { Quarantined } from '../map/snapshot.js';
import { insertStamps } from '../reconcile/stored-scan.js';
import type { Application } from './application.js';
import type { WrittenRevision } from './write-revision.js';

/** Stores the state of the mirror after a plan, when there is no new revision. */
export async function confirmState(writer: Writer, application: Application): Promise<void> {
  await writeState(writer, application, null);
}

/**
 * Stores the state of the mirror after a plan, and announces the revision to all processes, when the caller's transaction
 * commits. If the announcement is too long, they read the table `revisions`.
 */
export async function announceRevision(
  writer: Writer,
  application: Application,
  revision: WrittenRevision,
): Promise<Announcement> {
  const [row]: { text: string }[] = await writeState(writer, application, revision);
  if (row === undefined) throw new Error('The mirror has no state');
  return JSON.parse(row.text) as Announcement;
}

async function writeState(
  writer: Writer,
  application: Application,
  revision: WrittenRevision | null,
): Promise<{ text: string }[]> {
  const { covers, quarantined, basedOn, stamps = new Map<string, string>() } = application;
  // A whole reading replaces all quarantined entries, whose positions then begin at the start again.
  if (covers === null) await writer.query('delete from quarantined_entries');
  const values = new Values();
  const parts = [
    ...(covers === null ? [] : [`released as (${releaseQuarantined(values, covers)})`]),
    ...(quarantined.length === 0 ? [] : [`quarantined as (${quarantine(values, quarantined)})`]),
    ...(stamps.size === 0 ? [] : [`stamped as (${insertStamps(values, stamps)})`]),
    `state as (${updateState(values, application, revision)})`,
  ];
  const announced = revision === null ? 'select' : announce(values, revision, basedOn);
  return writer.query(`with ${parts.join(', ')} ${announced}`, [...values.all]);
}

function updateState(
  values: Values,
  { summary: { counts }, mapping, asOf, fingerprint, position }: Application,
  revision: WrittenRevision | null,
): string {
  const number = `${values.add(revision?.number ?? null)}::integer`;
  const lastOpenChange = `(
    select c.id from changes c where c.revision is distinct from ${number} order by c.id desc limit 1), changes_pruned_to`;
  return `
    update mirror_state set state = 'IDLE', reason = null, blocked_plan = null, as_of = ${values.add(asOf)},
      revision = coalesce(${number}, revision), change_count = change_count + ${values.add(revision?.changes ?? 0)},
      source_fingerprint = ${values.add(fingerprint)}, source_position = ${values.add(position)},
      user_count = user_count + ${values.add(counts.people.created - counts.people.deleted)},
      group_count = group_count + ${values.add(counts.groups.created - counts.groups.deleted)},
      hides = ${HIDES_SOMETHING}, hides_in_log = ${HIDES_CHANGES},
      changes_open_to = case when ${values.add(hasRules(mapping))}::boolean or hides_in_log
        then coalesce(changes_open_to, ${lastOpenChange}) end
    returning as_of, hides, hides_in_log`;
}

function announce(values: Values, { number, id }: WrittenRevision, previous: string | null): string {
  return `
    select a.text, pg_notify('${REVISION_CHANNEL}',
      case when octet_length(a.text) <= ${MAX_PAYLOAD_BYTES} then a.text else ${values.add(String(number))}::text end)
    from (
      select json_build_object('number', r.id, 'id', ${values.add(id)}::uuid, 'previous', ${values.add(previous)}::uuid,
        'changed', r.changed, 'asOf', (extract(epoch from s.as_of) * 1000)::float8,
        'age', extract(epoch from clock_timestamp() - s.as_of)::float8,
        'hides', s.hides, 'hidesInLog', s.hides or s.hides_in_log)::text as text
      from state s, revisions r where r.id = ${values.add(number)}) a`;
}

function releaseQuarantined(values: Values, { people, groups }: NonNullable<Application['covers']>): string {
  return `
    delete from quarantined_entries where (kind = 'person' and entry_uuid = any (${values.add(people)}::uuid[]))
      or (kind = 'group' and entry_uuid = any (${values.add(groups)}::uuid[]))`;
}

function quarantine(values: Values, quarantined: readonly Quarantined[]): string {
  const given = unnest(
    values,
    ['text', 'text', 'uuid', 'text', 'text', 'text'],
    [
      quarantined.map(({ kind }) => kind),
      quarantined.map(({ dn }) => dn.replaceAll('\0', '\uFFFD')),
      quarantined.map(({ uuid }) => uuid),
      quarantined.map(({ id }) => id),
      quarantined.map(({ attribute }) => attribute),
      quarantined.map(({ reason }) => reason),
    ],
  );
  return `
    insert into quarantined_entries (position, kind, dn, entry_uuid, id_folded, attribute, reason)
    select (select coalesce(max(position), 0) from quarantined_entries) + row_number() over (), given.*
    from ${given} as given`;
}
