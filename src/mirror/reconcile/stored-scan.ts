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
  /** SHA-256; null also where a person has none, and for groups. */
  readonly photo: Buffer | null;
  readonly picture: Buffer | null;
  /** What the server said of the entry when it was last known to be as it is mirrored; null: nothing is known. */
  readonly stamp: string | null;
}

const OF_KIND = {
  person: { table: 'users', columns: 'null::bytea as "referencesHash", e.photo, e.picture' },
  group: {
    table: 'groups',
    columns: 'e.references_hash as "referencesHash", null::bytea as photo, null::bytea as picture',
  },
} as const satisfies Record<EntryKind, object>;

/** A row for each entry, whether it is mirrored or not, by entryUUID. */
export async function readScannedRows(
  manager: Writer,
  kind: EntryKind,
  uuids: readonly string[],
): Promise<Map<string, ScannedRow>> {
  const { table, columns } = OF_KIND[kind];
  const rows: ScannedRow[] = await manager.query(
    `select given.uuid, e.dn_key as "dnKey", e.content_hash as "contentHash", ${columns}, s.stamp
     from unnest($1::uuid[]) as given (uuid)
       left join ${table} e on e.entry_uuid = given.uuid
       left join entry_stamps s on s.entry_uuid = given.uuid`,
    [uuids],
  );
  return new Map(rows.map((row) => [row.uuid, row]));
}

/** An entry that is known: it is mirrored, or put aside. */
export interface KnownRow {
  readonly uuid: string;
  readonly isMirrored: boolean;
  readonly hasPhoto: boolean;
  readonly hasPicture: boolean;
}

/** Rows that are read at once. */
const PAGE = 5000;

/** Every entry of a kind that is known, page by page. */
export async function* readKnownRows(manager: Writer, kind: EntryKind): AsyncGenerator<readonly KnownRow[]> {
  const pictures =
    kind === 'person' ? 'photo is not null, picture is not null' : 'false as photo, false as picture';
  let last = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows: KnownRow[] = await manager.query(
      `select uuid, bool_or("isMirrored") as "isMirrored", bool_or("hasPhoto") as "hasPhoto",
         bool_or("hasPicture") as "hasPicture"
       from (
         (select entry_uuid, true, ${pictures} from ${OF_KIND[kind].table}
          where entry_uuid > $1::uuid order by entry_uuid limit ${PAGE})
         union all
         (select distinct on (entry_uuid) entry_uuid, false, false, false from quarantined_entries
          where kind = $2 and entry_uuid > $1::uuid order by entry_uuid limit ${PAGE})
       ) as known (uuid, "isMirrored", "hasPhoto", "hasPicture")
       group by uuid order by uuid limit ${PAGE}`,
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
