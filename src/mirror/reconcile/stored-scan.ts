import type { Field } from '../../common/field.js';
import { sqlOfField } from '../../database/fields/field-columns.js';
import type { Writer } from '../../database/statements/writer.js';
import type { EntryKind } from '../../sources/source.js';

/** What the mirror holds of an entry that a scan has come to. */
export interface ScannedRow {
  readonly uuid: string;
  /** Null: the entry is not mirrored; so are the next three. */
  readonly dnKey: string | null;
  readonly contentHash: Buffer | null;
  /** Of groups; of people null. */
  readonly referencesHash: Buffer | null;
  /** SHA-256 of the pictures of a user, by field. */
  readonly pictures: Readonly<Record<string, Buffer | null>>;
  /** What the server said of the entry when it was last known to be as it is mirrored; null: nothing is known. */
  readonly stamp: string | null;
}

const TABLES = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** A row for each entry, whether it is mirrored or not, by entryUUID. */
export async function readScannedRows(
  manager: Writer,
  kind: EntryKind,
  uuids: readonly string[],
  pictures: readonly Field[],
): Promise<Map<string, ScannedRow>> {
  const columns =
    kind === 'person'
      ? [
          'null::bytea as "referencesHash"',
          ...pictures.map((field) => `${sqlOfField(field, 'e')} as "${field.name}"`),
        ]
      : ['e.references_hash as "referencesHash"'];
  const rows: (Omit<ScannedRow, 'pictures'> & Record<string, unknown>)[] = await manager.query(
    `select given.uuid, e.dn_key as "dnKey", e.content_hash as "contentHash", ${columns.join(', ')}, s.stamp
     from unnest($1::uuid[]) as given (uuid)
       left join ${TABLES[kind]} e on e.entry_uuid = given.uuid
       left join entry_stamps s on s.entry_uuid = given.uuid`,
    [uuids],
  );
  const digests = (row: Record<string, unknown>) =>
    Object.fromEntries(pictures.map(({ name }) => [name, (row[name] ?? null) as Buffer | null]));
  return new Map(rows.map((row) => [row.uuid, { ...row, pictures: digests(row) }]));
}

/** An entry that is known: it is mirrored, or put aside. */
export interface KnownRow {
  readonly uuid: string;
  readonly isMirrored: boolean;
  /** Which pictures a user has, in the order of the fields. */
  readonly hasPictures: readonly boolean[];
}

/** Rows that are read at once. */
const PAGE = 5000;

/** Every entry of a kind that is known, page by page. */
export async function* readKnownRows(
  manager: Writer,
  kind: EntryKind,
  pictures: readonly Field[] = [],
): AsyncGenerator<readonly KnownRow[]> {
  const presence = pictures.map((field) => `${sqlOfField(field, 'e')} is not null`);
  let last = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows: KnownRow[] = await manager.query(
      `select coalesce(e.uuid, q.uuid) as uuid, e.uuid is not null as "isMirrored",
         coalesce(e.pictures, '{}') as "hasPictures"
       from
         (select e.entry_uuid as uuid, array[${presence.join(', ')}]::boolean[] as pictures from ${TABLES[kind]} e
          where e.entry_uuid > $1::uuid order by e.entry_uuid limit ${PAGE}) e
         full join
         (select distinct on (entry_uuid) entry_uuid as uuid from quarantined_entries
          where kind = $2 and entry_uuid > $1::uuid order by entry_uuid limit ${PAGE}) q on q.uuid = e.uuid
       order by 1 limit ${PAGE}`,
      [last, kind],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
    last = rows[rows.length - 1]?.uuid ?? last;
  }
}

/** The entryUUIDs of entries that are put aside as a whole. */
export async function readAside(manager: Writer, kind: EntryKind): Promise<Set<string>> {
  const rows: { uuid: string }[] = await manager.query(
    `select distinct entry_uuid as uuid from quarantined_entries
     where kind = $1 and attribute is null and entry_uuid is not null`,
    [kind],
  );
  return new Set(rows.map(({ uuid }) => uuid));
}

/** People of whom an attribute is put aside: «entryUUID attribute». */
export async function readAsideAttributes(
  manager: Writer,
  attributes: readonly string[],
): Promise<Set<string>> {
  const rows: { key: string }[] = await manager.query(
    `select entry_uuid || ' ' || attribute as key from quarantined_entries
     where kind = 'person' and attribute = any ($1::text[]) and entry_uuid is not null`,
    [attributes],
  );
  return new Set(rows.map(({ key }) => key));
}

/** Entries that are as they are mirrored, with what the server says of them, by entryUUID. */
export async function writeStamps(manager: Writer, stamps: ReadonlyMap<string, string>): Promise<void> {
  if (stamps.size === 0) return;
  await manager.query(
    `insert into entry_stamps (entry_uuid, stamp) select * from unnest($1::uuid[], $2::text[])
     on conflict on constraint entry_stamps_pk do update set stamp = excluded.stamp`,
    [[...stamps.keys()], [...stamps.values()]],
  );
}

/** Removes what is left of entries that are no longer there. */
export async function sweepStamps(manager: Writer): Promise<void> {
  await manager.query(
    `delete from entry_stamps s
     where not exists (select from users where entry_uuid = s.entry_uuid)
       and not exists (select from groups where entry_uuid = s.entry_uuid)
       and not exists (select from quarantined_entries where entry_uuid = s.entry_uuid)`,
  );
}
