import { type Field, storedName } from '../common/field.js';
import type { DirectoryMapping } from '../config/model/mapping.js';
import type { LookupKey } from '../common/identity.js';
import { lookupCondition, type TableNames } from '../database/fields/object-table.js';
import { sqlOfField } from '../database/fields/field-columns.js';
import { statement, type Statement } from '../database/statements/statement.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { NAMED_GROUPS } from '../mirror/map/map.js';
import { NAMED_AS_MEMBER, NAMED_AS_OWNER, type NamedAs, namedBy } from '../mirror/map/named-by.js';
import { MEMBERS, type RawAttributes } from '../mirror/revision/staged-entry.js';
import { userTable } from '../users/user.queries.js';
import { requiredForm } from './memberships/membership-record.js';
import type { OriginalEntry, OriginalGroup } from './stored-entry.js';

/** A user of the mirror, for a change. */
export interface MirroredUser extends OriginalEntry {
  readonly key: number;
  readonly uuid: string;
  readonly id: string;
  /** The values of the fields by their stored names. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** A group of the mirror, for a change. The members are read only where they change. */
export interface MirroredGroup extends MirroredUser, OriginalGroup {
  /** The audience of its members. 0: everyone who may see the group. */
  readonly membersVisibleTo: number;
}

/** The columns of every entry, which precede those of its fields. `b` is the entry of the row `e`. */
const ENTRY_COLUMNS = ['e.key', 'e.entry_uuid', 'e.id', 'b.dn', 'b.attributes'];

export type EntryRow = [
  key: number,
  uuid: string,
  id: string,
  dn: string,
  attributes: RawAttributes,
  ...others: unknown[],
];

/** Up to two, without those that the viewer does not see: otherwise the last visible member would disclose them. */
const countValues = (naming: NamedAs) => `case when e.members_visible_to > 0 then 1 else (
    select count(*)::integer from (
      select from "references" r left join names n on n.name = r.target
        left join users s on s.key = n.key left join groups t on t.key = n.key
      where r.from_key = e.key and r.field = '${MEMBERS}' and r.named_as & ${naming} <> 0
        and (n.key is null or s.key is not null or t.key is not null)
      limit 2) named) end`;

/** SQL for the attributes by which a group names an entry, as a sum; null: it does not. */
const namedAs = (group: string, member: string) => `(
    select bit_or(r.named_as) from names n join "references" r on r.target = n.name
    where n.key = ${member} and r.from_key = ${group} and r.field = '${MEMBERS}')`;

/** The statements that read whole entries, and the conversion of their rows. */
export class MirroredEntryQueries {
  private readonly users: TableNames;
  private readonly columns: { readonly user: string; readonly group: string };
  /** The groups that name a group, by its key. The attributes by which it does follow the columns of each group. */
  readonly listOuterGroups: Statement;
  private readonly countsOwners: boolean;
  private readonly fields: { readonly users: readonly Field[]; readonly groups: readonly Field[] };

  constructor({ users, groups }: DirectoryMapping) {
    // The time of the last update is not part of an entry.
    const ofEntry = (fields: readonly Field[]) => fields.filter(({ reader }) => reader !== 'none');
    this.fields = { users: ofEntry(users.fields), groups: ofEntry(groups.fields) };
    const single = groups.owners.find(({ isSingle }) => isSingle);
    this.countsOwners = single !== undefined;
    const select = (fields: readonly Field[]) => [
      ...ENTRY_COLUMNS,
      ...fields.map((each) => sqlOfField(each, 'e')),
    ];
    const group = [
      ...select(this.fields.groups),
      'e.members_visible_to',
      countValues(namedBy(requiredForm(groups)?.by ?? 'dn', NAMED_AS_MEMBER)),
      ...(single === undefined ? [] : [countValues(namedBy(single.by, NAMED_AS_OWNER))]),
    ].join(', ');
    this.columns = { user: select(this.fields.users).join(', '), group };
    this.users = userTable(this.fields.users);
    this.listOuterGroups = statement(`
      select ${group}, ${namedAs('e.key', '$1')} from nestings n join groups e on e.key = n.outer_key join entries b on b.key = e.key
      where n.inner_key = $1 order by e.sort_name, e.key`);
  }

  findUser(by: LookupKey): Statement {
    return statement(
      `select ${this.columns.user} from users e join entries b on b.key = e.key where ${lookupCondition(this.users, by, 'e', '$1')}`,
    );
  }

  /** Finds the user only if the second value is their folded id. */
  findUserThemselves(by: LookupKey): Statement {
    return statement(`${this.findUser(by).text} and e.id_folded = $2`);
  }

  findGroup(by: LookupKey): Statement {
    return statement(
      `select ${this.columns.group} from groups e join entries b on b.key = e.key where ${lookupCondition(GROUP_TABLE, by, 'e', '$1')}`,
    );
  }

  /** Finds the group only if the user with the folded id belongs to it, directly or through nested groups. */
  findGroupOfUser(by: LookupKey): Statement {
    return statement(`
      ${this.findGroup(by).text} and exists (
        select 1 from effective_memberships m join users u on u.key = m.user_key
        where m.group_key = e.key and u.id_folded = $2)`);
  }

  userOf(row: EntryRow): MirroredUser {
    return entryOf(row, this.fields.users);
  }

  /** @returns the group, and the value that follows its columns */
  groupOf(row: EntryRow): { group: MirroredGroup; next: unknown } {
    const [membersVisibleTo, memberValues, ...others] = row.slice(
      ENTRY_COLUMNS.length + this.fields.groups.length,
    );
    const [ownerValues] = this.countsOwners ? others.splice(0, 1) : [];
    const group = {
      ...entryOf(row, this.fields.groups),
      membersVisibleTo: Number(membersVisibleTo),
      memberValues: Number(memberValues),
      ...(this.countsOwners && { ownerValues: Number(ownerValues) }),
    };
    return { group, next: others[0] };
  }
}

function entryOf(
  [key, uuid, id, dn, attributes, ...values]: EntryRow,
  fields: readonly Field[],
): MirroredUser {
  const read = Object.fromEntries(fields.map((field, index) => [storedName(field), values[index]]));
  return { key, uuid, id, dn, attributes, values: read };
}

/** The attributes by which a group names another one, by their keys. */
export const FIND_NESTING = statement(`select ${namedAs('$1', '$2')}`);

/** The attributes by which a group names a user, by their keys, and the effective role of the user in the group. */
export const FIND_MEMBERSHIP_STATE = statement(`
  select ${namedAs('$1', '$2')},
    (select role from effective_memberships where group_key = $1 and user_key = $2)`);

/** Whether a user names a group, by their keys: see NAMED_GROUPS. */
export const IS_NAMED_BY_USER = statement(`
  select 1 from "references" r join names n on n.name = r.target
  where r.field = '${NAMED_GROUPS}' and r.from_key = $2 and n.key = $1`);

/** Whether a user names a group by the key $1 of its DN. */
export const IS_NAMED_BY_USERS = statement(`
  select from "references" r join users u on u.key = r.from_key
  where r.field = '${NAMED_GROUPS}' and r.target = $1::uuid limit 1`);

export type MembershipRow = [namedAs: NamedAs | null, role: number | null];

/** The effective role of a user, by folded id, in a group, by its key. */
export const FIND_EFFECTIVE_ROLE = statement(`
  select m.role from users u left join effective_memberships m on m.user_key = u.key and m.group_key = $1
  where u.id_folded = $2`);

/** Whether an entry in quarantine has the DN with the key $1, or is a group with the folded id $2. */
export const IS_IN_QUARANTINE = statement(
  `select from entries where reason is not null and (dn_key = $1::uuid or (kind = 'group' and id_folded = $2))`,
);

/** Whether a user or a group has one of the keys $1. */
export const IS_AMONG = statement(
  'select from users u where u.key = any ($1::integer[]) union all select from groups g where g.key = any ($1::integer[])',
);

/** Whether one of the groups that name the DN with the key $1 shows whom it names. */
export const IS_NAMED_BY_GROUPS = statement(`
  select from "references" r join groups g on g.key = r.from_key
  where r.field = '${MEMBERS}' and r.target = $1::uuid and g.members_visible_to = 0 limit 1`);

export const READ_AS_OF = statement('select as_of from mirror_state');
