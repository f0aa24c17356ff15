import { statement } from '../database/statements/statement.js';
import type { Hashed, HashedGroup } from '../mirror/plan/plan.js';
import {
  type Group,
  NAMED_AS_MEMBER,
  type NamedAs,
  type Person,
  type SourceValues,
} from '../mirror/map/snapshot.js';
import type { StoredGroup } from './stored-entry.js';

/** A person as the mirror has them, for a change. The hash stays as it is: only a synchronisation looks at it. */
export interface MirroredPerson extends Hashed<Person> {
  readonly key: number;
}

/** A group, likewise. Whom it names is read where that changes: `references` is empty. */
export interface MirroredGroup extends HashedGroup {
  readonly key: number;
  readonly value: Group & StoredGroup;
}

type EntryRow = [
  key: number,
  uuid: string,
  dn: string,
  dnKey: string,
  id: string,
  name: string,
  email: string | null,
  sourceValues: SourceValues | null,
  createdAt: Date,
  contentHash: Buffer,
];

export type PersonRow = [
  ...EntryRow,
  givenName: string | null,
  familyName: string | null,
  schoolYear: string | null,
  photo: Buffer | null,
  picture: Buffer | null,
];

export type GroupRow = [
  ...EntryRow,
  description: string | null,
  website: string | null,
  referencesHash: Buffer,
  memberValues: number,
];

const ENTRY_COLUMNS =
  'e.key, e.entry_uuid, e.dn, e.dn_key, e.id, e.name, e.email, e.source_values, e.created_at, e.content_hash';

const PERSON_COLUMNS = `${ENTRY_COLUMNS}, e.given_name, e.family_name, e.school_year, e.photo, e.picture`;

const GROUP_COLUMNS = `${ENTRY_COLUMNS}, e.description, e.website, e.references_hash, (
    select count(*)::integer from (
      select named_as from memberships where group_key = e.key
      union all select named_as from nestings where outer_key = e.key
      union all select named_as from unresolved_references where group_key = e.key
    ) named where named_as & ${NAMED_AS_MEMBER} <> 0)`;

/** By folded id. */
export const FIND_PERSON = statement(`select ${PERSON_COLUMNS} from users e where e.id_folded = $1`);

/** By folded id. */
export const FIND_GROUP = statement(`select ${GROUP_COLUMNS} from groups e where e.id_folded = $1`);

/** By folded id, if a person belongs to it, directly or through others: by the folded id of the person. */
export const FIND_GROUP_OF_PERSON = statement(`
  select ${GROUP_COLUMNS} from groups e where e.id_folded = $1 and exists (
    select 1 from effective_memberships m join users u on u.key = m.user_key
    where m.group_key = e.key and u.id_folded = $2)`);

/** The groups that name a group, by its key, and how they do. */
export const LIST_OUTER_GROUPS = statement(`
  select n.named_as, ${GROUP_COLUMNS} from nestings n join groups e on e.key = n.outer_key
  where n.inner_key = $1 order by e.sort_name, e.key`);

export type OuterGroupRow = [namedAs: NamedAs, ...GroupRow];

/** By what a group names another one, by their keys. */
export const FIND_NESTING = statement(
  'select named_as from nestings where outer_key = $1 and inner_key = $2',
);

/** By what a group names a person, by their keys, and the person's effective role in it. */
export const FIND_MEMBERSHIP = statement(`
  select (select named_as from memberships where group_key = $1 and user_key = $2),
    (select role from effective_memberships where group_key = $1 and user_key = $2)`);

export type MembershipRow = [namedAs: NamedAs | null, role: number | null];

/** The effective role in a group, by its key, of a person by folded id. */
export const FIND_STANDING = statement(`
  select m.role from users u left join effective_memberships m on m.user_key = u.key and m.group_key = $1
  where u.id_folded = $2`);

/** The DNs of entries that are put aside and have a text in them somewhere, in whatever case. */
export const LIST_QUARANTINED_DNS = statement(
  'select dn from quarantined_entries where attribute is null and strpos(lower(dn), lower($1)) > 0',
);

export const READ_AS_OF = statement('select as_of from mirror_state');

export function personOf(row: PersonRow): MirroredPerson {
  const [entry, [givenName, familyName, schoolYear, photo, picture]] = [entryOf(row), rest(row)];
  return { ...entry, value: { ...entry.value, givenName, familyName, schoolYear, photo, picture } };
}

export function groupOf(row: GroupRow): MirroredGroup {
  const [entry, [description, website, referencesHash, memberValues]] = [entryOf(row), rest(row)];
  const value = {
    ...entry.value,
    description,
    website,
    memberValues,
    references: new Map<string, NamedAs>(),
  };
  return { ...entry, value, referencesHash };
}

function entryOf(row: [...EntryRow, ...unknown[]]) {
  const [key, uuid, dn, dnKey, id, name, email, sourceValues, createdAt, contentHash] = row;
  return { key, contentHash, value: { uuid, dn, dnKey, id, name, email, sourceValues, createdAt } };
}

function rest<Rest extends unknown[]>(row: [...EntryRow, ...Rest]): Rest {
  const [, , , , , , , , , , ...others] = row;
  return others;
}
