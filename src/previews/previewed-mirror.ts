import type { Principal } from '../auth/principal.js';
import { foldId, lookupOf, type LookupKey } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { type DirectoryMapping, mappingOf, type MemberForm } from '../config/model/mapping.js';
import { lookupCondition, notFound, type TableNames } from '../database/fields/object-table.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';
import { statement } from '../database/statements/statement.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { type GroupInput, type GroupRole, roleOf } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { type ChangeRecord, writeLdif } from '../ldap/ldif/ldif-record.js';
import { keyOfDn } from '../ldap/naming/identifiers.js';
import { NAMED_GROUPS } from '../mirror/map/map.js';
import * as naming from '../sources/references.js';
import { writeEntries } from '../mirror/revision/entries.js';
import { EntryStager, MEMBERS, type RawAttributes } from '../mirror/revision/staged-entry.js';
import { Staging } from '../mirror/revision/staging.js';
import type { UserInput } from '../users/user.model.js';
import { userTable } from '../users/user.queries.js';
import * as groupRecords from './group-records.js';
import type { ChangePreview, PreviewedChange } from './mutations.model.js';
import type { EntryKind } from '../sources/directory.js';
import * as records from './records.js';
import { type CallerRole, canReadAll, forbidden, mayChange, onlyReadable, unreadable } from './rights.js';
import { validateChange } from './values.js';

/** The columns ENTRY, and others behind them. */
type EntryRow = [number, string, string, string, RawAttributes, number, ...unknown[]];

/** `b` is the entry of the row `e` of a user or group. */
const ENTRY = 'e.key, e.entry_uuid, e.id, b.dn, b.attributes, e.visible_to';

/** SQL for the number of values of a form, up to two, as far as the viewer sees them: the last visible member would be disclosed. */
const countValues = (role: naming.RoleSum, form: MemberForm | undefined) => `
  case when e.members_visible_to > 0 then 1 else (
    select count(*)::integer from (
      select from "references" r left join names n on n.name = r.target
        left join users s on s.key = n.key left join groups t on t.key = n.key
      where ${form === undefined ? 'false' : `r.named_as & ${naming.namedBy(form.by, role)} <> 0`}
        and r.from_key = e.key and r.field = '${MEMBERS}' and (n.key is null or s.key is not null or t.key is not null)
      limit 2) named) end`;

const columnsOf = ({ groups }: DirectoryMapping) =>
  `${ENTRY}, e.members_visible_to, ${countValues(naming.NAMED_AS_MEMBER, groupRecords.requiredForm(groups))}, ${countValues(naming.NAMED_AS_OWNER, groupRecords.singleForm(groups))}`;

/** SQL for the attributes by which a group names an entry, as a sum; null: it does not. */
const namedAs = (group: string, member: string) => `(
    select bit_or(r.named_as) from names n join "references" r on r.target = n.name
    where n.key = ${member} and r.from_key = ${group} and r.field = '${MEMBERS}')`;

/** How a group names a user, by their keys, and whether the user names the group. */
const FIND_NAMING = statement(`
  select ${namedAs('$1', '$2')},
    exists (select from "references" r join names n on n.name = r.target
      where r.field = '${NAMED_GROUPS}' and r.from_key = $2 and n.key = $1)`);

/** The effective role of a user, by folded id, in a group, by its key. */
const FIND_ROLE = statement(`
  select m.role from users u left join effective_memberships m on m.user_key = u.key and m.group_key = $1
  where u.id_folded = $2`);

/**
 * The entries that have the DN with the key $1, or are groups with the folded id $2; with $3, also users. Whether the viewer sees
 * them or they are in quarantine, and whether their names can be given to a new group otherwise.
 */
const FIND_HOLDERS = statement(`
  select e.key, e.reason is not null or u.key is not null or g.key is not null, e.kind = 'group' or e.dn_key = $1::uuid
  from entries e left join users u on u.key = e.key left join groups g on g.key = e.key
  where e.dn_key = $1::uuid or (e.id_folded = $2 and (e.kind = 'group' or $3::boolean))`);

/** Whether a user whom the viewer sees, or a group whose members the viewer sees, names the DN with the key $1 in its memberships. */
const IS_NAMED = statement(`
  select from "references" r left join users u on u.key = r.from_key left join groups g on g.key = r.from_key
  where r.target = $1::uuid and ((r.field = '${NAMED_GROUPS}' and u.key is not null) or (r.field = '${MEMBERS}' and g.members_visible_to = 0))
  limit 1`);

/** Gives entries with the keys $1 another DN, and groups another id, which no entry has. */
const FREE_NAMES = `
  with renamed as (update entries set dn_key = gen_random_uuid(), id_folded = uuid::text where key = any ($1::integer[])),
    unnamed as (delete from names where key = any ($1::integer[]))
  update groups set id = entry_uuid::text, id_folded = entry_uuid::text where key = any ($1::integer[])`;

/** Members are not among the stored attributes of the entry $1, except the one with the key $2, whose naming changes. */
const STAGE_OTHER_MEMBERS = `
  insert into staged_references select $1::uuid, r.field, r.target, r.named_as
  from "references" r join entries e on e.key = r.from_key
  where e.uuid = $1 and r.field = '${MEMBERS}'
    and not exists (select from names n where n.name = r.target and n.key = $2::integer)`;

const DELETE_MEMBERSHIPS = `
  delete from "references" r using names n where r.field = '${MEMBERS}' and r.target = n.name and n.key = $1`;

/** In the preview, fields and users do not name what has the keys $1. */
const DELETE_FORGOTTEN = (table: string) =>
  `delete from ${table} where field <> '${MEMBERS}' and target = any ($1::uuid[])`;

/** Who belongs to one of the groups $1 by this change alone. */
const SELECT_JOINED = `
  select array_agg(c.user_key) as users from effective_changes c
  where c.role_before is null and c.role_after is not null and c.group_key = any ($1::integer[])
    and not exists (
      select from effective_memberships m
      where m.user_key = c.user_key and m.group_key = any ($1::integer[]) and not exists (
        select from effective_changes d
        where d.user_key = m.user_key and d.group_key = m.group_key and d.role_before is null))`;

/** The mirror as a mutation sees and changes it, in the transaction of the preview. */
export class PreviewedMirror {
  readonly principal: Principal;
  readonly transaction: PreviewTransaction;
  readonly mapping: DirectoryMapping;
  private readonly users: TableNames;

  constructor({ principal, previewTransaction }: RequestContext, { directory }: Config) {
    if (principal === null) throw new Error('A mutation was reached without a token');
    this.principal = principal;
    this.transaction = previewTransaction;
    this.mapping = directory.mapping;
    this.users = userTable(directory.mapping.users.fields);
  }

  /** The user that a mutation names. @throws ServiceError INSUFFICIENT_SCOPE before any database access, NOT_FOUND */
  async getUser(input: UserInput, argument: string): Promise<records.MirroredEntry> {
    const { principal } = this;
    const { by, value } = lookupOf(this.users, input);
    const own = onlyReadable(principal, argument);
    if (own !== null && by === 'id' && value !== own) throw unreadable(principal, argument);
    const user = await this.findUser(by, value, own);
    if (user !== null) return user;
    // For every other user the error is the same, whether the user exists or not.
    throw own === null || by === 'id' ? notFound(this.users, argument, by) : unreadable(principal, argument);
  }

  /** The user on whose behalf the token acts. Null: it has no user in the directory. */
  async findActor(): Promise<records.MirroredEntry | null> {
    const { subject } = this.principal;
    return subject === null ? null : this.findUser('id', foldId(subject));
  }

  /** @param own the folded id of the only user who may be found. Null: every user may */
  private async findUser(by: LookupKey, value: unknown, own: string | null = null) {
    const find = statement(
      `select ${ENTRY} from users e join entries b on b.key = e.key
       where ${lookupCondition(this.users, by, 'e', '$1')} and ($2::text is null or e.id_folded = $2)`,
    );
    const [row] = await this.transaction.read<EntryRow>(find, [value, own]);
    return row === undefined ? null : entryOf('person', row);
  }

  /** As getUser. A group that the token cannot read counts as nonexistent: one statement covers both cases. */
  async getGroup(input: GroupInput, argument: string): Promise<groupRecords.MirroredGroup> {
    const { by, value } = lookupOf(GROUP_TABLE, input);
    const own = onlyReadable(this.principal, argument);
    // With $2, only a group to which the user with this folded id belongs, directly or through nested groups.
    const findGroup = statement(
      `select ${columnsOf(this.mapping)} from groups e join entries b on b.key = e.key
       where ${lookupCondition(GROUP_TABLE, by, 'e', '$1')} and ($2::text is null or exists (
         select from effective_memberships m join users u on u.key = m.user_key
         where m.group_key = e.key and u.id_folded = $2))`,
    );
    const [row] = await this.transaction.read<EntryRow>(findGroup, [value, own]);
    if (row === undefined) throw notFound(GROUP_TABLE, argument, by);
    return groupOf(row);
  }

  async listOuterGroups(
    inner: records.MirroredEntry,
  ): Promise<{ group: groupRecords.MirroredGroup; namedAs: naming.NamedAs }[]> {
    const listOuter = statement(
      `select ${columnsOf(this.mapping)}, ${namedAs('e.key', '$1')}
       from nestings n join groups e on e.key = n.outer_key join entries b on b.key = e.key
       where n.inner_key = $1 order by e.sort_name, e.key`,
    );
    const rows = await this.transaction.read<EntryRow>(listOuter, [inner.key]);
    return rows.map((row) => ({ group: groupOf(row), namedAs: Number(row.at(-1)) }));
  }

  /** The attributes by which a group names a user, and whether an attribute of the user names the group. */
  async readNaming(group: groupRecords.MirroredGroup, user: records.MirroredEntry) {
    type Row = [namedAs: number | null, isNamedByUser: boolean];
    const [row = [null, false]] = await this.transaction.read<Row>(FIND_NAMING, [group.key, user.key]);
    const [namedAs, isNamedByUser] = row;
    const others = isNamedByUser ? ~naming.namedByAny(naming.NAMED_AS_MEMBER) : naming.NAMED_AS_ANYTHING;
    return { namedAs: (namedAs ?? groupRecords.NOT_NAMED) & others, isNamedByUser };
  }

  /** @param what the change, as the end of a sentence. @throws ServiceError FORBIDDEN if the role of the token's user is lower */
  async requireRole(group: groupRecords.MirroredGroup, needed: GroupRole, what: string, argument = 'group') {
    const { subject } = this.principal;
    const keys = [group.key, foldId(subject ?? '')];
    const [row] = subject === null ? [] : await this.transaction.read<[rank: number | null]>(FIND_ROLE, keys);
    const [rank] = row ?? [];
    const role: CallerRole = rank === undefined ? 'NO_USER' : rank === null ? 'STRANGER' : roleOf(rank);
    if (!mayChange(this.principal, role, needed)) throw forbidden(needed, role, what, argument);
  }

  /** The LDIF that makes a change permanent, with what would change. */
  async preview(changed: readonly ChangeRecord[], changes: PreviewedChange[]): Promise<ChangePreview> {
    const [[basedOn] = [null]] = await this.transaction.read<[asOf: Date | null]>(
      statement('select as_of from mirror_state'),
    );
    return { ldif: writeLdif(changed), basedOn, changes, persisted: false };
  }

  /**
   * Reserves the id and the DN of a new group. An entry that the viewer does not see is renamed in the preview instead: the answer is
   * as if it did not exist, and the directory rejects the LDIF. For a token that cannot read groups, a DN that groups or users already
   * name is taken, because the new group would show them as its parents and members.
   * @throws ServiceError CONFLICT if an entry has one of them, including those in quarantine
   */
  async reserve(id: string, dn: string): Promise<void> {
    const { principal, transaction } = this;
    const { users, groups } = this.mapping;
    const key = keyOfDn(dn);
    // No user and group of such a directory have the same id ([MS-ADTS] 3.1.1.5.1.3).
    const isShared = [users.id, groups.id].every((each) => records.isSame(each, 'sAMAccountName'));
    type Row = [key: number, isTaken: boolean, hasNames: boolean];
    const holders = await transaction.read<Row>(FIND_HOLDERS, [key, foldId(id), isShared]);
    const isTaken = () => records.conflict('The directory has an entry with this id already', 'id');
    if (holders.some(([, isSeen]) => isSeen)) throw isTaken();
    const hidden = holders.filter(([, , hasNames]) => hasNames).map(([holder]) => holder);
    if (hidden.length > 0) await transaction.query(FREE_NAMES, [hidden]);
    // Entries that the viewer may not see can name the DN.
    if (hidden.length > 0 || (principal.limitedTo ?? null) !== null) {
      transaction.addToViewer({ forgotten: [key] });
      await transaction.query(DELETE_FORGOTTEN('"references"'), [[key]]);
    }
    if (!canReadAll(principal) && (await transaction.read(IS_NAMED, [key])).length > 0) throw isTaken();
  }

  /** What the token sees change in an entry, which may not exist before or after. @param object the field of the payload that has it */
  changesOf(object: string, before: records.MirroredEntry | null, after: records.MirroredEntry | null) {
    const { mapping, principal } = this;
    const { fields } = mappingOf(mapping, (before ?? after)?.kind ?? 'group');
    const [former, values] = [before, after].map((each) => each && records.valuesOf(each, mapping));
    return records.changesOfFields(object, fields, former ?? null, values ?? null, principal);
  }

  /** Changes fields of a user or a group. */
  async changeFields(before: records.MirroredEntry, input: object, object: string): Promise<ChangePreview> {
    const change = validateChange(input, mappingOf(this.mapping, before.kind).fields);
    const { record, attributes } = records.changeFields(before, change, this.mapping);
    const after = { ...before, attributes };
    await this.change(after);
    return this.preview([record], this.changesOf(object, before, after));
  }

  /** Changes how a group names a user or a nested group. @returns the record */
  async changeNaming(
    group: groupRecords.MirroredGroup,
    named: records.MirroredEntry,
    before: naming.NamedAs,
    after: naming.RoleSum,
  ): Promise<ChangeRecord> {
    const { record, attributes } = groupRecords.changeNames(group, named, before, after, this.mapping);
    await this.change({ ...group, attributes }, named.key);
    // A viewer whom the change adds to a group sees this membership, and no other one that follows from it.
    const { transaction } = this;
    if (named.kind === 'person' && named.key === transaction.fixedViewer?.key)
      transaction.addToViewer({ ownOf: [group.key] });
    return record;
  }

  /** Removes a group, and from the groups that name it. */
  async removeGroup(group: groupRecords.MirroredGroup): Promise<void> {
    await this.transaction.query(DELETE_MEMBERSHIPS, [group.key]);
    await this.change(group, null, true);
  }

  /**
   * Writes an entry as a revision does, with all derived data. Returns its key.
   * @param named the key of the entry whose naming changes
   */
  async change(entry: records.MirroredEntry, named: number | null = null, isGone = false): Promise<number> {
    const { mapping, transaction } = this;
    const { kind, uuid } = entry;
    const staging = await Staging.begin(transaction);
    if (isGone) await staging.remove([uuid]);
    else {
      const read = records.toEntry(entry, mapping);
      const staged = await stagerOf(transaction, mapping).stage(kind, uuid, read, '');
      const row = staged.row && { ...staged.row, ...entry.audiences };
      await staging.add([{ ...staged, row }], true);
      await transaction.query(STAGE_OTHER_MEMBERS, [uuid, named]);
      await transaction.query(DELETE_FORGOTTEN('staged_references'), [transaction.fixedViewer?.forgotten]);
    }
    await staging.match();
    await staging.settle();
    await writeEntries({ writer: transaction, mapping, isFirst: false, now: new Date() });
    const [written] = await transaction.query<{ key: number }[]>('select key from staged');
    const key = entry.key === 0 ? (written?.key ?? 0) : entry.key;
    // Viewers see a group that they create, and who belongs to it, even if a rule hides it or they are limited to other groups.
    if (entry.key === 0)
      transaction.addToViewer({ memberOf: [key], adminOf: [key], ownOf: [key], limitedTo: [uuid] });
    // Users whom the change adds to a group that the viewer administers do not become visible to the viewer.
    const { adminOf: groups = [] } = transaction.fixedViewer ?? {};
    if (groups.length === 0) return key;
    const [joined] = await transaction.query<{ users: number[] | null }[]>(SELECT_JOINED, [groups]);
    transaction.addToViewer({ joined: joined?.users ?? [] });
    return key;
  }
}

function entryOf(
  kind: EntryKind,
  [key, uuid, id, dn, attributes, visibleTo]: EntryRow,
): records.MirroredEntry {
  return { kind, key, uuid, id, dn, attributes, audiences: { visible_to: visibleTo } };
}

function groupOf(row: EntryRow): groupRecords.MirroredGroup {
  const entry = entryOf('group', row);
  const [membersVisibleTo = 0, memberValues = 0, ownerValues = 0] = row.slice(6).map(Number);
  const audiences = { ...entry.audiences, members_visible_to: membersVisibleTo };
  return { ...entry, audiences, membersVisibleTo, memberValues, ownerValues };
}

/** The digest of a picture stands for its bytes. A preview changes no picture. */
function stagerOf(transaction: PreviewTransaction, mapping: DirectoryMapping): EntryStager {
  return new EntryStager(mapping, {
    put: async (sha256) => {
      const known = await transaction.query('select 1 as known from pictures where sha256 = $1', [sha256]);
      return known.length > 0 ? { sha256 } : { reason: 'cannot be displayed' };
    },
    flush: () => Promise.resolve(),
  });
}
