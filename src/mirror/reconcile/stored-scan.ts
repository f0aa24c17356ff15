import { chunksOf } from '../../common/chunks.js';
import type { Field } from '../../common/field.js';
import { sqlOfField } from '../../database/fields/field-columns.js';
import { Values, type Writer } from '../../database/statements/statement.js';
import { unnest } from '../../database/statements/unnest.js';
import type { EntryKind } from '../../sources/source.js';

export interface ScannedRow {
  readonly uuid: string;
  /** Null if the entry is not mirrored. The next three fields then hold no value either. */
  readonly dnKey: string | null;
  readonly contentHash: Buffer | null;
  /** Null for people. */
  readonly referencesHash: Buffer | null;
  /** SHA-256 of the pictures of a user, by field. */
  readonly pictures: Readonly<Record<string, Buffer | null>>;
  /** The server's stamp when the entry last equaled its mirrored row, or null if it is unknown. */
  readonly stamp: string | null;
}

const OF_KIND = {
  person: { table: 'users', referencesHash: 'null::bytea' },
  group: { table: 'groups', referencesHash: 'e.references_hash' },
} as const satisfies Record<EntryKind, object>;

/** Returns a row for each entry, mirrored or not, by entryUUID. */
export async function readScannedRows(
  manager: Writer,
  kind: EntryKind,
  uuids: readonly string[],
  pictures: readonly Field[],
): Promise<Map<string, ScannedRow>> {
  const { table, referencesHash } = OF_KIND[kind];
  const digests =
    kind === 'person' ? pictures.map((field) => `${sqlOfField(field, 'e')} as "${field.name}"`) : [];
  const columns = [`${referencesHash} as "referencesHash"`, ...digests];
  const rows: (Omit<ScannedRow, 'pictures'> & Record<string, unknown>)[] = await manager.query(
    `select given.uuid, e.dn_key as "dnKey", e.content_hash as "contentHash", ${columns.join(', ')}, s.stamp
     from unnest($1::uuid[]) as given (uuid)
       left join ${table} e on e.entry_uuid = given.uuid
       left join entry_stamps s on s.entry_uuid = given.uuid`,
    [uuids],
  );
  const digestsIn = (row: Record<string, unknown>) =>
    Object.fromEntries(pictures.map(({ name }) => [name, (row[name] ?? null) as Buffer | null]));
  return new Map(rows.map((row) => [row.uuid, { ...row, pictures: digestsIn(row) }]));
}

const PAGE = 2000;

/** Yields the entryUUIDs of mirrored or quarantined entries of a kind, page by page. */
export async function* readKnownUuids(manager: Writer, kind: EntryKind): AsyncGenerator<readonly string[]> {
  let last = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows: { uuid: string }[] = await manager.query(
      `select uuid
       from (
         (select entry_uuid from ${OF_KIND[kind].table}
          where entry_uuid > $1::uuid order by entry_uuid limit ${PAGE})
         union
         (select distinct entry_uuid from quarantined_entries
          where kind = $2 and entry_uuid > $1::uuid order by entry_uuid limit ${PAGE})
       ) as known (uuid)
       order by uuid limit ${PAGE}`,
      [last, kind],
    );
    if (rows.length > 0) yield rows.map(({ uuid }) => uuid);
    if (rows.length < PAGE) return;
    last = rows[rows.length - 1]?.uuid ?? last;
  }
}

/** Returns which of these entries are mirrored or quarantined, and as what. */
export async function findKnown(
  manager: Writer,
  uuids: readonly string[],
): Promise<{ kind: EntryKind; uuid: string }[]> {
  return manager.query(
    `select 'person' as kind, entry_uuid as uuid from users where entry_uuid = any ($1::uuid[])
     union select 'group', entry_uuid from groups where entry_uuid = any ($1::uuid[])
     union select kind, entry_uuid from quarantined_entries where entry_uuid = any ($1::uuid[])`,
    [uuids],
  );
}

export interface Aside {
  /**
   * Quarantined entries, by entryUUID. The value is the folded id that another entry has too, or null for any
   * other reason.
   */
  readonly entries: Readonly<Record<EntryKind, ReadonlyMap<string, string | null>>>;
  /** Quarantined pictures of people, as `entryUUID attribute`. */
  readonly pictures: ReadonlySet<string>;
}

/** @param pictures the names of the attributes that hold pictures */
export async function readAside(manager: Writer, pictures: readonly string[]): Promise<Aside> {
  const rows: { kind: EntryKind; uuid: string; id: string | null }[] = await manager.query(
    `select kind, entry_uuid as uuid, id_folded as id from quarantined_entries
     where attribute is null and entry_uuid is not null`,
  );
  const keys: { key: string }[] = await manager.query(
    `select entry_uuid || ' ' || attribute as key from quarantined_entries
     where kind = 'person' and attribute = any ($1::text[]) and entry_uuid is not null`,
    [pictures],
  );
  const entriesOf = (wanted: EntryKind) =>
    new Map(rows.filter(({ kind }) => kind === wanted).map(({ uuid, id }) => [uuid, id]));
  return {
    entries: { person: entriesOf('person'), group: entriesOf('group') },
    pictures: new Set(keys.map(({ key }) => key)),
  };
}

/** Number of stamps in one statement. Encoding one array for a whole directory would block the process. */
const STAMPS_AT_ONCE = 1000;

/** Stores the server's stamps of entries that have just been applied, by entryUUID. */
export async function writeStamps(manager: Writer, stamps: ReadonlyMap<string, string>): Promise<void> {
  for (const some of chunksOf([...stamps], STAMPS_AT_ONCE)) {
    const values = new Values();
    await manager.query(insertStamps(values, new Map(some)), [...values.all]);
  }
}

export function insertStamps(values: Values, stamps: ReadonlyMap<string, string>): string {
  return `insert into entry_stamps (entry_uuid, stamp)
    select * from ${unnest(values, ['uuid', 'text'], [[...stamps.keys()], [...stamps.values()]])}
    on conflict on constraint entry_stamps_pk do update set stamp = excluded.stamp`;
}

/** An entry that equals its row, and its stamp on the server. */
export interface Confirmed {
  readonly row: ScannedRow;
  readonly stamp: string;
}

/** Stores the stamps of entries of a kind, except for rows that have changed since they were compared. */
export async function confirmStamps(
  manager: Writer,
  kind: EntryKind,
  confirmed: readonly Confirmed[],
): Promise<void> {
  if (confirmed.length === 0) return;
  const { table, referencesHash } = OF_KIND[kind];
  await manager.query(
    `insert into entry_stamps (entry_uuid, stamp)
     select given.uuid, given.stamp
     from unnest($1::uuid[], $2::text[], $3::bytea[], $4::bytea[]) as given (uuid, stamp, content, "references")
       left join ${table} e on e.entry_uuid = given.uuid
     where e.content_hash is not distinct from given.content
       and ${referencesHash} is not distinct from given."references"
     on conflict on constraint entry_stamps_pk do update set stamp = excluded.stamp`,
    [
      confirmed.map(({ row }) => row.uuid),
      confirmed.map(({ stamp }) => stamp),
      confirmed.map(({ row }) => row.contentHash),
      confirmed.map(({ row }) => row.referencesHash),
    ],
  );
}

export async function sweepStamps(manager: Writer): Promise<void> {
  await manager.query(
    `delete from entry_stamps s
     where not exists (select from users where entry_uuid = s.entry_uuid)
       and not exists (select from groups where entry_uuid = s.entry_uuid)
       and not exists (select from quarantined_entries where entry_uuid = s.entry_uuid)`,
  );
}
