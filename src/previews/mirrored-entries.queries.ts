import { type Field, storedName } from '../common/field.js';
import type { AudienceLevel } from '../config/settings/visibility.js';
import type { DirectoryMapping } from '../config/model/mapping.js';
import { sqlOfField } from '../database/fields/field-columns.js';
import { lookupCondition, type TableNames } from '../database/fields/object-table.js';
import type { LookupKey } from '../common/identity.js';
import { type Statement, statement } from '../database/statements/statement.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import type { Hashed, HashedGroup } from '../mirror/plan/plan.js';
import { GROUP_KEYS, NAMED_GROUPS } from '../mirror/map/named-groups.js';
import {
  type MappedGroup,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type NamedAs,
  type MappedPerson,
  type SourceValues,
} from '../mirror/map/snapshot.js';
import { userTable } from '../users/user.queries.js';
import type { OriginalGroup } from './stored-entry.js';

/**
 * A user as stored in the mirror, for a change. The change does not update the hash, because only a
 * synchronization run compares it.
 */
export interface MirroredPerson extends Hashed<MappedPerson> {
  readonly key: number;
}

/**
 * A group as stored in the mirror, for a change. `references` is empty: the members are read only where they
 * change.
 */
export interface MirroredGroup extends HashedGroup {
  readonly key: number;
  readonly value: MappedGroup & OriginalGroup;
}

/** The fields that every entry has. */
type IdentityFields = Pick<MappedPerson, 'id' | 'name' | 'createdAt'>;

/** The columns of every entry, which precede the columns of its fields. */
const ENTRY_COLUMNS = [
  'e.key',
  'e.content_hash',
  'e.entry_uuid',
  'e.dn',
  'e.dn_key',
  'e.source_values',
  'nullif(e.visible_to, 0)',
];

export type EntryRow = [
  key: number,
  contentHash: Buffer,
  uuid: string,
  dn: string,
  dnKey: string,
  sourceValues: SourceValues | null,
  visibleTo: AudienceLevel | null,
  ...fields: unknown[],
];

/** Up to two, without those that the viewer does not see: otherwise the last visible member would disclose them. */
const countValues = (naming: NamedAs) => `case when e.members_visible_to > 0 then 1 else (
    select count(*)::integer from (
      select n.named_as from memberships n join users s on s.key = n.user_key where n.group_key = e.key and n.named_as & ${naming} <> 0
      union all
      select n.named_as from nestings n join groups s on s.key = n.inner_key where n.outer_key = e.key and n.named_as & ${naming} <> 0
      union all
      select n.named_as from unresolved_references n where n.group_key = e.key and n.named_as & ${naming} <> 0
      limit 2) named) end`;

/** The statements that read whole entries, and the conversion of their rows. */
export class MirroredEntryQueries {
  private readonly users: TableNames;
  private readonly columns: { readonly person: string; readonly group: string };
  /**
   * The groups that name a group, by its key. The attributes by which it does follow the columns of each
   * group.
   */
  readonly listOuterGroups: Statement;
  private readonly countsOwners: boolean;
  private readonly fields: { readonly people: readonly Field[]; readonly groups: readonly Field[] };

  constructor({ users, groups }: DirectoryMapping) {
    // The time of the last update is not part of an entry.
    const ofEntry = (fields: readonly Field[]) => fields.filter(({ reader }) => reader !== 'none');
    this.fields = { people: ofEntry(users.fields), groups: ofEntry(groups.fields) };
    this.countsOwners = groups.owners.isSingle === true;
    const select = (fields: readonly Field[]) => [
      ...ENTRY_COLUMNS,
      ...fields.map((each) => sqlOfField(each, 'e')),
    ];
    const person = select(this.fields.people).join(', ');
    const group = [
      ...select(this.fields.groups),
      'e.references_hash',
      'nullif(e.members_visible_to, 0)',
      countValues(NAMED_AS_MEMBER),
      ...(this.countsOwners ? [countValues(NAMED_AS_OWNER)] : []),
    ].join(', ');
    this.columns = { person, group };
    this.users = userTable(this.fields.people);
    this.listOuterGroups = statement(`
      select ${group}, n.named_as from nestings n join groups e on e.key = n.outer_key
      where n.inner_key = $1 order by e.sort_name, e.key`);
  }

  findPerson(by: LookupKey): Statement {
    return statement(
      `select ${this.columns.person} from users e where ${lookupCondition(this.users, by, 'e', '$1')}`,
    );
  }

  /** Finds the user only if the second value is their folded id. */
  findPersonThemselves(by: LookupKey): Statement {
    return statement(`${this.findPerson(by).text} and e.id_folded = $2`);
  }

  findGroup(by: LookupKey): Statement {
    return statement(
      `select ${this.columns.group} from groups e where ${lookupCondition(GROUP_TABLE, by, 'e', '$1')}`,
    );
  }

  /** Finds the group only if the user with the folded id belongs to it, directly or through nested groups. */
  findGroupOfPerson(by: LookupKey): Statement {
    return statement(`
      ${this.findGroup(by).text} and exists (
        select 1 from effective_memberships m join users u on u.key = m.user_key
        where m.group_key = e.key and u.id_folded = $2)`);
  }

  personOf(row: EntryRow): MirroredPerson {
    return entryOf(row, this.fields.people);
  }

  /** @returns the group, and the value that follows its columns */
  groupOf(row: EntryRow): { group: MirroredGroup; next: unknown } {
    const { key, contentHash, value } = entryOf(row, this.fields.groups);
    const [referencesHash, membersVisibleTo, memberValues, ...others] = row.slice(
      ENTRY_COLUMNS.length + this.fields.groups.length,
    );
    const [ownerValues] = this.countsOwners ? others.splice(0, 1) : [];
    const group = {
      ...value,
      membersVisibleTo: membersVisibleTo as AudienceLevel | null,
      memberValues: Number(memberValues),
      ...(this.countsOwners && { ownerValues: Number(ownerValues) }),
      references: new Map<string, NamedAs>(),
    };
    return {
      group: { key, contentHash, value: group, referencesHash: referencesHash as Buffer },
      next: others[0],
    };
  }
}

function entryOf(
  [key, contentHash, uuid, dn, dnKey, sourceValues, visibleTo, ...values]: EntryRow,
  fields: readonly Field[],
): MirroredPerson {
  const read = Object.fromEntries(
    fields.map((field, index) => [storedName(field), values[index]]),
  ) as IdentityFields;
  const naming = { [NAMED_GROUPS]: null, [GROUP_KEYS]: null };
  return { key, contentHash, value: { ...read, ...naming, uuid, dn, dnKey, sourceValues, visibleTo } };
}

/** The attributes by which a group names another one, by their keys. */
export const FIND_NESTING = statement(
  'select named_as from nestings where outer_key = $1 and inner_key = $2',
);

/**
 * The attributes by which a group names a user, by their keys, and the effective role of the user in the
 * group.
 */
export const FIND_MEMBERSHIP_STATE = statement(`
  select (select named_as from memberships where group_key = $1 and user_key = $2),
    (select role from effective_memberships where group_key = $1 and user_key = $2)`);

/** Whether a user names a group: see named-groups.ts. */
export const IS_NAMED_BY_USER = statement(`
  select 1 from user_references r
  where r.field = '${NAMED_GROUPS}' and r.from_key = $2 and (
    r.target = (select dn_key::text from groups where key = $1) or exists (
      select from group_references k where k.field = '${GROUP_KEYS}' and k.from_key = $1 and k.target = r.target))`);

/** Whether a user names a group by the key $1 of its DN. */
export const IS_NAMED_BY_USERS = statement(`
  select from user_references r join users u on u.key = r.from_key
  where r.field = '${NAMED_GROUPS}' and r.target = $1 limit 1`);

export type MembershipRow = [namedAs: NamedAs | null, role: number | null];

/** The effective role of a user, by folded id, in a group, by its key. */
export const FIND_EFFECTIVE_ROLE = statement(`
  select m.role from users u left join effective_memberships m on m.user_key = u.key and m.group_key = $1
  where u.id_folded = $2`);

/** The DNs of quarantined entries that contain a text, ignoring case. */
export const LIST_QUARANTINED_DNS = statement(
  'select dn from quarantined_entries where attribute is null and strpos(lower(dn), lower($1)) > 0',
);

/** Whether a user or a group has one of the entryUUIDs $1. */
export const IS_AMONG = statement(
  'select from users u where u.entry_uuid = any ($1::uuid[]) union all select from groups g where g.entry_uuid = any ($1::uuid[])',
);

/** Whether one of the groups with the entryUUIDs $1 shows whom it names. */
export const SHOWS_MEMBERS = statement(
  'select from groups g where g.entry_uuid = any ($1::uuid[]) and g.members_visible_to = 0',
);

export const READ_AS_OF = statement('select as_of from mirror_state');
