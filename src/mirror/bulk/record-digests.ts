import { hash } from 'node:crypto';
import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind, SourceRecord } from '../../sources/source.js';
import { ENTRY_TABLES, storedKeyIn } from '../map/entry-tables.js';
import { EVERY_NAME, namesOf, type NamedByMasks } from '../map/named-by.js';
import type { MappedPerson } from '../map/snapshot.js';
import type { Hashed, HashedGroup } from '../plan/plan.js';

/**
 * The table `record_digests`: for each entry, a digest of the record that its row was written from, so that an equal record need not be
 * parsed. It is the first 128 bits of the SHA-256 of the model and the kind, the digest of the record, the entryUUID, and the hashes
 * of the row: a digest matches only as long as the row has the values that the record gives with this model. So nothing that writes
 * rows has to maintain digests, and a digest may be written before the row, or lost.
 */
export class RecordDigests {
  private readonly marks: Readonly<Record<EntryKind, Buffer>>;
  private waiting = new Map<string, string>();

  /** @param model the fingerprint of all that a row depends on besides the record: see fingerprintOf */
  constructor(model: string) {
    this.marks = { person: Buffer.from(`${model} person`), group: Buffer.from(`${model} group`) };
  }

  /** @param digest see SourceRecord.digest; null: the entry gets no digest */
  add(
    kind: EntryKind,
    { value: { uuid }, contentHash, ...others }: Hashed<MappedPerson> | HashedGroup,
    digest: string | null,
  ): void {
    if (digest === null) return;
    const identity = Buffer.from(digest + uuid.replaceAll('-', ''), 'hex');
    const parts = [this.marks[kind], identity, contentHash];
    if ('referencesHash' in others) parts.push(others.referencesHash);
    this.waiting.set(uuid, hash('sha256', Buffer.concat(parts), 'hex').slice(0, 32));
  }

  /** Writes the collected digests. */
  async flush(writer: Writer): Promise<void> {
    const { waiting } = this;
    if (waiting.size === 0) return;
    this.waiting = new Map();
    await writer.query(WRITE, [[...waiting.keys()], [...waiting.values()]]);
  }

  /** Stages the entries that their rows equal. Returns the other records. */
  async stageUnchanged(
    writer: Writer,
    records: readonly SourceRecord[],
    masks: NamedByMasks,
  ): Promise<SourceRecord[]> {
    const rows = await writer.query<{ place: number }[]>(stageUnchanged(masks), [
      records.map(({ kind }) => kind),
      records.map(({ dnKey }) => dnKey),
      records.map(({ digest }) => digest),
      this.marks.person,
      this.marks.group,
    ]);
    return rows.flatMap(({ place }) => records[place - 1] ?? []);
  }
}

/** In the order of entryUUIDs, so that two processes do not wait for each other. */
const WRITE = `
  insert into record_digests as d (entry_uuid, digest)
  select * from unnest($1::uuid[], $2::uuid[]) as given (entry_uuid, digest) order by entry_uuid
  on conflict on constraint record_digests_pk do update set digest = excluded.digest where d.digest <> excluded.digest`;

/** Deletes digests of entries that the source does not have, but none that another process writes: the two could wait for each other. */
export const SWEEP = `
  delete from record_digests where entry_uuid in (
    select d.entry_uuid from record_digests d where not exists (select from staged_entries s where s.uuid = d.entry_uuid)
    for update skip locked)`;

/** See RecordDigests.add. */
const HASHES_OF_ROW: Readonly<Record<EntryKind, string>> = {
  person: 'e.content_hash',
  group: 'e.content_hash || e.references_hash',
};

function unchangedIn(kind: EntryKind, mark: string, masks: NamedByMasks): string {
  const names = namesOf(kind, masks);
  const keys = EVERY_NAME.map(
    (by) => `${names.includes(by) ? storedKeyIn('e', by) : 'null::uuid'} as by_${by}`,
  );
  const hashed = `${mark}::bytea || uuid_send(g.digest) || uuid_send(e.entry_uuid) || ${HASHES_OF_ROW[kind]}`;
  return `
    select g.place, '${kind}' as kind, e.entry_uuid as uuid, e.dn, e.id_folded, ${keys.join(', ')}
    from given g join ${ENTRY_TABLES[kind]} e on e.dn_key = g.dn_key join record_digests d on d.entry_uuid = e.entry_uuid
    where coalesce(g.kind, '${kind}') = '${kind}'
      and d.digest = encode(substring(sha256(${hashed}) for 16), 'hex')::uuid`;
}

/** Writes the rows that Staging writes of each entry, and returns the places of all other records. */
function stageUnchanged(masks: NamedByMasks): string {
  const used = EVERY_NAME.filter((by) => masks[by] > 0);
  const keys = used.map((by) => `select kind, uuid, by_${by} from unchanged where by_${by} is not null`);
  return `
  with given as (
    select * from unnest($1::text[], $2::uuid[], $3::uuid[]) with ordinality as given (kind, dn_key, digest, place)),
  unchanged as (${unchangedIn('person', '$4', masks)} union all ${unchangedIn('group', '$5', masks)}),
  entries as (
    insert into staged_entries (kind, uuid, dn, id_folded) select kind, uuid, dn, id_folded from unchanged),
  keys as (insert into staged_keys (kind, uuid, key) ${keys.join(' union all ')})
  select place::integer from given where place not in (select place from unchanged) order by place`;
}
