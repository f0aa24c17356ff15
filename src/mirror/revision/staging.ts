import { arraysOf, chunksOf } from '../../common/chunks.js';
import type { Writer } from '../../database/statements/statement.js';
import type { Identity } from '../../sources/directory.js';
import { COMPARED_BYTES, type StagedEntry } from './staged-entry.js';

export const SAME_UUID = 'has the same UUID as another entry';
export const SAME_ID = 'has the same id as another entry';
const SAME_DN = 'has the DN of another entry, if case is ignored';

/**
 * The tables of one revision, in the transaction that writes it:
 * - `staged`: entries that differ from the mirror. `key` is null for a new one until it is written; `is_changed`: viewers see the change;
 *   `is_respelled`: only the spelling of values that are compared without it, which is no change in the log.
 * - `staged_references`: what they name.
 * - `restamped`: entries that have only another stamp.
 * - `gone`: entries that are deleted, by key.
 * - `former`: users and groups that change or vanish, as they were before.
 * - `moved_names`: names that another entry, or none, has afterwards, with the audience of the entry.
 * - `touched_pairs`: groups and those whom they may name otherwise.
 * - `changed_nestings`: groups, and groups inside them, that are nested otherwise.
 * - `effective_changes`: memberships that change.
 * - `referring`: entries whose fields refer to an entry that appears or vanishes.
 * - `differing`: what a dry run lists of entries that change or vanish.
 */
const TABLES: Readonly<Record<string, string>> = {
  staged: `uuid uuid not null, kind text not null, dn text not null, dn_key uuid not null, id_folded text collate "C",
    stamp text not null, attributes jsonb not null, content bytea not null, digest bytea not null, reason text,
    notes jsonb, names uuid[] not null, "row" json, key integer, is_changed boolean, is_respelled boolean,
    place integer generated always as identity`,
  staged_references:
    'uuid uuid not null, field text collate "C" not null, target uuid not null, named_as smallint not null',
  restamped: 'key integer not null, stamp text not null',
  gone: 'key integer primary key',
  former: `key integer primary key, kind text not null, uuid uuid not null, id text not null, id_folded text collate "C" not null,
    visible_to smallint not null, members_visible_to smallint not null, is_gone boolean not null, is_renamed boolean not null,
    has_other_audience boolean not null, place integer not null default 0, pictures bytea[]`,
  moved_names: 'name uuid not null, kind text not null, visible_to smallint not null',
  touched_pairs: 'group_key integer not null, member_key integer not null',
  changed_nestings: `outer_key integer not null, inner_key integer not null, change text not null, visible_to smallint,
    role_before smallint, role_after smallint`,
  effective_changes: `group_key integer not null, user_key integer not null, role_before smallint, role_after smallint,
    direct_before smallint, direct_role smallint, inherited_from integer[]`,
  referring: 'key integer not null, visible_to smallint not null',
  differing: 'key integer not null, dn text not null, name text not null, fields text[] not null',
};

const CREATE = Object.entries(TABLES)
  .map(([name, columns]) => `create temporary table if not exists ${name} (${columns}) on commit delete rows`)
  .join(';\n');

const EMPTY = Object.keys(TABLES)
  .map((name) => `delete from ${name}`)
  .join('; ');

/** Number of references that are sent in one statement. */
const REFERENCES = 5000;
/** Number of entries that are read again because of renamed entries. */
export const MOST_NAMING = 1000;

/** Entries of a directory, staged in the transaction of the writer. */
export class Staging {
  private constructor(
    readonly writer: Writer,
    private readonly isFirst: boolean,
  ) {}

  /** Begins a revision. In a transaction that wrote one before, the tables are emptied. */
  static async begin(writer: Writer, isFirst = false): Promise<Staging> {
    await writer.query(`set local client_min_messages = warning; ${CREATE}; ${EMPTY}`);
    return new Staging(writer, isFirst);
  }

  /**
   * Stages entries that differ from the mirror, and notes the stamps of others.
   * @param isForced whether also entries that do not differ are staged: their ids or DNs are claimed by others
   * @returns the keys that they have in the mirror, or null; none if all are staged
   */
  async add(entries: readonly StagedEntry[], isForced = false): Promise<(number | null)[]> {
    const found = isForced || this.isFirst ? [] : await this.compare(entries);
    await this.insert(entries.filter((_, index) => found[index]?.isEqual !== true));
    return found.map(({ key }) => key);
  }

  /** Unstages entries. */
  async forget(uuids: readonly string[]): Promise<void> {
    for (const table of ['staged', 'staged_references'])
      await this.writer.query(`delete from ${table} where uuid = any ($1::uuid[])`, [uuids]);
  }

  async remove(uuids: readonly string[]): Promise<void> {
    await this.writer.query(
      `insert into gone select e.key from entries e where e.uuid = any ($1::uuid[])
         and not exists (select from staged s where s.uuid = e.uuid) on conflict do nothing`,
      [uuids],
    );
  }

  /**
   * Assigns the staged entries to those of the mirror.
   * @returns entries that are not staged, but claim or claimed the id or the DN of a staged one
   */
  async match(): Promise<Identity[]> {
    const { writer } = this;
    await writer.query('analyze staged; analyze gone');
    await writer.query(
      `update staged s set reason = '${SAME_UUID}', "row" = null, names = '{}'
       from (select uuid from staged group by uuid having count(*) > 1) d where s.uuid = d.uuid`,
    );
    // Each keeps a row, so that it is listed: of all but one, the identifier is made of the DN.
    await writer.query(`
      update staged s set uuid = md5(s.dn)::uuid from staged o where s.uuid = o.uuid and s.dn > o.dn;
      delete from staged s using staged o where s.uuid = o.uuid and s.ctid > o.ctid;
      update staged s set key = e.key from entries e where e.uuid = s.uuid and e.kind = s.kind and s.key is null;
      insert into gone select e.key from entries e join staged s on s.uuid = e.uuid where e.kind <> s.kind on conflict do nothing;
      delete from gone g using staged s where s.key = g.key`);
    const claims = (column: 'id_folded' | 'dn_key') => {
      // A user and a group can have one id, but not one DN.
      const kind = column === 'id_folded' ? ' and a.kind = e.kind' : '';
      return `
        select e.uuid, e.dn from entries e join (
          select s.kind, s.${column} as claim from staged s left join entries b on b.key = s.key
          where b.key is null or b.${column} is distinct from s.${column} or b.reason is not null
          union
          select b.kind, b.${column} from entries b join gone g on g.key = b.key
          union
          select b.kind, b.${column} from entries b join staged s on s.key = b.key where b.${column} is distinct from s.${column}
        ) a on a.claim = e.${column}${kind}
        where not exists (select from staged s where s.key = e.key) and not exists (select from gone g where g.key = e.key)`;
    };
    return writer.query<(Identity & object)[]>(`${claims('id_folded')} union ${claims('dn_key')}`);
  }

  /** Entries that name a DN that a staged entry no longer has, as they are in the mirror, or as they are staged. */
  findNaming(): Promise<Identity[]> {
    return this.writer.query(
      `select distinct e.uuid, e.dn from staged s join names n on n.key = s.key and not n.name = any (s.names)
         join "references" r on r.target = n.name join entries e on e.key = r.from_key
       where s.reason is null and (not exists (select from staged o where o.key = e.key)
         or exists (select from staged_references o where o.uuid = e.uuid and o.target = n.name)) limit ${MOST_NAMING}`,
    );
  }

  /** Leaves out entries with the id or DN of others, and finds out what changes. */
  async settle(): Promise<void> {
    for (const [column, reason] of [
      ['id_folded', SAME_ID],
      ['dn_key', SAME_DN],
    ] as const) {
      const kind = column === 'id_folded' ? 'kind' : `''::text`;
      await this.writer.query(`
        update staged s set reason = '${reason}' from (
          select kind, claim from (
            select ${kind} as kind, ${column} as claim from staged where ${column} is not null
            union all
            select ${kind.replace('kind', 'e.kind')}, e.${column} from entries e
            where e.${column} in (select ${column} from staged)
              and not exists (select from staged o where o.key = e.key) and not exists (select from gone g where g.key = e.key)
          ) c group by kind, claim having count(*) > 1) d
        where s.${column} = d.claim and ${kind.replace('kind', 's.kind')} = d.kind and s.reason is null`);
    }
    await this.writer.query(`
      update staged s set "row" = null, names = '{}' where reason is not null;
      delete from staged_references r using staged s where s.uuid = r.uuid and s.reason is not null;
      update staged s set is_changed = not exists (
          select from entries e where e.key = s.key and e.content = s.content and e.reason is not distinct from s.reason),
        is_respelled = exists (
          select from entries e where e.key = s.key and e.content <> s.content and e.reason is null and s.reason is null
            and substring(e.content for ${COMPARED_BYTES}) = substring(s.content for ${COMPARED_BYTES}));
      analyze staged; analyze staged_references`);
  }

  /** The number of staged and deleted entries. */
  async count(): Promise<number> {
    const [row] = await this.writer.query<{ count: number }[]>(
      'select ((select count(*) from staged) + (select count(*) from gone))::integer as count',
    );
    return row?.count ?? 0;
  }

  private compare(entries: readonly StagedEntry[]) {
    return this.writer.query<{ key: number | null; isEqual: boolean | null }[]>(
      `with found as (
         select given.place, given.stamp, e.key, e.stamp as before, e.kind = given.kind
           and e.digest = decode(given.digest, 'hex') and e.reason is distinct from '${SAME_UUID}' as "isEqual"
         from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) with ordinality as given (uuid, kind, digest, stamp, place)
           left join entries e on e.uuid = given.uuid),
       stamped as (insert into restamped select key, stamp from found where "isEqual" and before <> stamp)
       select key, "isEqual" from found order by place`,
      arraysOf(entries, 'uuid', 'kind', 'digest', 'stamp'),
    );
  }

  private async insert(entries: readonly StagedEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const rows = entries.map(
      ({ uuid, kind, dn, dnKey, idFolded, stamp, attributes, content, digest, ...others }) => ({
        ...{ uuid, kind, dn, stamp, attributes, dn_key: dnKey, id_folded: idFolded },
        content: `\\x${content}`,
        digest: `\\x${digest}`,
        reason: others.reason,
        notes: others.notes.length === 0 ? null : others.notes,
        names: others.names,
        row: others.row,
      }),
    );
    await this.writer.query(
      `insert into staged select * from json_to_recordset($1::json) as given (
         uuid uuid, kind text, dn text, dn_key uuid, id_folded text, stamp text, attributes jsonb, content bytea,
         digest bytea, reason text, notes jsonb, names uuid[], "row" json)`,
      [JSON.stringify(rows)],
    );
    const references = entries.flatMap(({ uuid, references: named }) =>
      named.map(([field, target, namedAs]) => ({ uuid, field, target, namedAs })),
    );
    // The driver takes much longer to encode arrays.
    const list = <Each>(batch: readonly Each[], valueOf: (each: Each) => string | number) =>
      batch.map(valueOf).join('\u0001');
    for (const batch of chunksOf(references, REFERENCES)) {
      await this.writer.query(
        `insert into staged_references select * from unnest(
           string_to_array($1, e'\\x01')::uuid[], string_to_array($2, e'\\x01'), string_to_array($3, e'\\x01')::uuid[],
           string_to_array($4, e'\\x01')::smallint[])`,
        [
          list(batch, ({ uuid }) => uuid),
          list(batch, ({ field }) => field),
          list(batch, ({ target }) => target),
          list(batch, ({ namedAs }) => namedAs),
        ],
      );
    }
  }
}

/** A hash of what is staged, in any order of staging: SHA-256 in hexadecimal. Deleted entries must still exist. */
export async function readHash(writer: Writer): Promise<string> {
  const [row] = await writer.query<{ hash: string }[]>(`
    select encode(sha256(convert_to(coalesce(string_agg(t, ',' order by t), ''), 'UTF8')), 'hex') as hash from (
      select uuid::text || encode(digest, 'hex') || coalesce(reason, '') as t from staged
      union all select e.uuid::text from gone g join entries e on e.key = g.key) staged (t)`);
  return row?.hash ?? '';
}
