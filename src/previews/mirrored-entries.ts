import { Inject, Injectable } from '@nestjs/common';
import { notFound } from '../database/fields/object-table.js';
import { lookupOf, foldId } from '../common/identity.js';
import type { Principal } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import type { DirectoryMapping } from '../config/model/mapping.js';
import { CONFIG } from '../config/config.module.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';
import type { Reader } from '../database/statements/statement.js';
import { type GroupInput, roleOf } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import { MEMBERS } from '../mirror/revision/staged-entry.js';
import { NAMED_AS_MEMBER, type NamedAs, namedByAny } from '../mirror/map/named-by.js';
import type { EntryKind } from '../sources/source.js';
import type { UserInput } from '../users/user.model.js';
import { USER_TABLE } from '../users/user.queries.js';
import { isSame } from './stored-entry.js';
import { NOT_NAMED, type StoredMembership } from './memberships/membership-record.js';
import {
  type EntryRow,
  FIND_MEMBERSHIP_STATE,
  FIND_NESTING,
  IS_AMONG,
  IS_IN_QUARANTINE,
  IS_NAMED_BY_GROUPS,
  IS_NAMED_BY_USER,
  IS_NAMED_BY_USERS,
  FIND_EFFECTIVE_ROLE,
  type MembershipRow,
  MirroredEntryQueries,
  type MirroredGroup,
  type MirroredUser,
} from './mirrored-entries.queries.js';
import type { CallerRole } from './policy.js';
import { type PreviewContext, canReadAll, ownId, unreadable } from './rights.js';

@Injectable()
export class MirroredEntries {
  private readonly queries: MirroredEntryQueries;

  constructor(@Inject(CONFIG) { directory }: Config) {
    this.queries = new MirroredEntryQueries(directory.mapping);
  }

  /**
   * Reads the user that a mutation names.
   * @throws ServiceError INSUFFICIENT_SCOPE, before any database access, for a user whom the token cannot
   * read, and NOT_FOUND
   */
  async getUser(
    { transaction, principal }: PreviewContext,
    input: UserInput,
    argument: string,
  ): Promise<MirroredUser> {
    const { by, value } = lookupOf(USER_TABLE, input);
    if (canReadAll(principal) || (by === 'id' && value === ownId(principal))) {
      const [row] = await transaction.read<EntryRow>(this.queries.findUser(by), [value]);
      if (row === undefined) throw notFound(USER_TABLE, argument, by);
      return this.queries.userOf(row);
    }
    const own = by === 'id' ? null : ownId(principal);
    const [row] =
      own === null ? [] : await transaction.read<EntryRow>(this.queries.findUserThemselves(by), [value, own]);
    // For every other user the error is the same, whether the user exists or not.
    if (row === undefined) throw unreadable(principal, argument);
    return this.queries.userOf(row);
  }

  /**
   * Reads the group that a mutation names. A group that the token cannot read counts as nonexistent: one
   * statement covers both cases.
   * @throws ServiceError INSUFFICIENT_SCOPE, before any database access, for a token that can read no group,
   * and NOT_FOUND
   */
  async getGroup(
    { transaction, principal }: PreviewContext,
    input: GroupInput,
    argument: string,
  ): Promise<MirroredGroup> {
    const { by, value } = lookupOf(GROUP_TABLE, input);
    const person = canReadAll(principal) ? null : ownId(principal);
    if (person === null && !canReadAll(principal)) throw unreadable(principal, argument);
    const rows = await (person === null
      ? transaction.read<EntryRow>(this.queries.findGroup(by), [value])
      : transaction.read<EntryRow>(this.queries.findGroupOfUser(by), [value, person]));
    const [row] = rows;
    if (row === undefined) throw notFound(GROUP_TABLE, argument, by);
    return this.queries.groupOf(row).group;
  }

  /** Reads a user that the preview has changed. */
  async getChanged(transaction: PreviewTransaction, id: string): Promise<MirroredUser> {
    const [row] = await transaction.read<EntryRow>(this.queries.findUser('id'), [foldId(id)]);
    if (row === undefined) throw notFound(USER_TABLE, 'id');
    return this.queries.userOf(row);
  }

  /** Reads a group that the preview has created or changed. */
  async getNewGroup(transaction: PreviewTransaction, id: string): Promise<MirroredGroup> {
    const [row] = await transaction.read<EntryRow>(this.queries.findGroup('id'), [foldId(id)]);
    if (row === undefined) throw notFound(GROUP_TABLE, 'id');
    return this.queries.groupOf(row).group;
  }

  /** Reads the user on whose behalf a token acts. Null: the token has no user in the directory. */
  async findActor(reader: Reader, { subject }: Principal): Promise<MirroredUser | null> {
    if (subject === null) return null;
    const [row] = await reader.read<EntryRow>(this.queries.findUser('id'), [foldId(subject)]);
    return row === undefined ? null : this.queries.userOf(row);
  }

  async listOuterGroups(
    reader: Reader,
    inner: MirroredGroup,
  ): Promise<{ group: MirroredGroup; namedAs: NamedAs }[]> {
    const rows = await reader.read<EntryRow>(this.queries.listOuterGroups, [inner.key]);
    return rows.map((row) => {
      const { group, next } = this.queries.groupOf(row);
      return { group, namedAs: next as NamedAs };
    });
  }
}

/** Reads the role of the token's user in a group. */
export async function readCallerRole(
  reader: Reader,
  { subject }: Principal,
  group: MirroredGroup,
): Promise<CallerRole> {
  if (subject === null) return 'NO_USER';
  const [row] = await reader.read<[rank: number | null]>(FIND_EFFECTIVE_ROLE, [group.key, foldId(subject)]);
  if (row === undefined) return 'NO_USER';
  const [rank] = row;
  return rank === null ? 'STRANGER' : roleOf(rank);
}

/** @param usersName whether users can name groups in this directory */
export async function readMembership(
  reader: Reader,
  group: MirroredGroup,
  person: MirroredUser,
  usersName: boolean,
): Promise<StoredMembership> {
  const keys = [group.key, person.key];
  const isNamedByUser = usersName && (await reader.read(IS_NAMED_BY_USER, keys)).length > 0;
  const [[namedAs, rank] = [null, null]] = await reader.read<MembershipRow>(FIND_MEMBERSHIP_STATE, keys);
  return {
    namedAs: (namedAs ?? NOT_NAMED) & (isNamedByUser ? ~namedByAny(NAMED_AS_MEMBER) : ~NOT_NAMED),
    role: rank === null ? null : roleOf(rank),
    isNamedByUser,
  };
}

export async function readNesting(
  reader: Reader,
  outer: MirroredGroup,
  inner: MirroredGroup,
): Promise<NamedAs> {
  const [[namedAs] = [null]] = await reader.read<[NamedAs | null]>(FIND_NESTING, [outer.key, inner.key]);
  return namedAs ?? NOT_NAMED;
}

/** Gives the entries with the keys $1 another DN, and the groups another id, which no entry has. */
const RENAME = [
  'update entries set dn_key = gen_random_uuid(), id_folded = uuid::text where key = any ($1::integer[])',
  'delete from names where key = any ($1::integer[])',
  'update groups set id = entry_uuid::text, id_folded = entry_uuid::text where key = any ($1::integer[])',
];

/** The targets that references of fields, and of users to their groups, do not name in the preview. */
const FORGOTTEN =
  'create temporary table if not exists forgotten (target uuid not null) on commit delete rows';

/** In the preview, a new entry with this DN is not the target of references: of fields, and of users to their groups. */
export async function forgetReferences(transaction: PreviewTransaction, dn: string): Promise<void> {
  await transaction.query(FORGOTTEN);
  await transaction.query('insert into forgotten values ($1)', [keyOfDn(dn)]);
  await transaction.query('delete from "references" where field <> $2 and target = $1::uuid', [
    keyOfDn(dn),
    MEMBERS,
  ]);
}

/** Leaves out of the staged entries what the preview has forgotten. */
export async function omitForgotten(transaction: PreviewTransaction): Promise<void> {
  await transaction.query(FORGOTTEN);
  await transaction.query(
    'delete from staged_references s using forgotten f where s.field <> $1 and s.target = f.target',
    [MEMBERS],
  );
}

/**
 * Reserves the id and the DN of a new group in the preview. Returns false if an entry has one of them already, including entries
 * in quarantine. An entry that the viewer does not see is renamed in the preview instead: the answer is as if it did not exist,
 * and the directory rejects the LDIF.
 * @param id id of a group, which its DN contains
 */
export async function reserveNames(
  transaction: PreviewTransaction,
  id: string,
  dn: string,
  mapping: DirectoryMapping,
): Promise<boolean> {
  const dnKey = keyOfDn(dn);
  if (haveCommonIds(mapping) && (await isIdOfUser(transaction, id))) return false;
  if ((await transaction.read(IS_IN_QUARANTINE, [dnKey, foldId(id)])).length > 0) return false;
  const keys = await readHolders(transaction, 'group', id, dnKey);
  if (keys.length === 0) return true;
  if ((await transaction.read(IS_AMONG, [keys])).length > 0) return false;
  for (const text of RENAME) await transaction.query(text, [keys]);
  await forgetReferences(transaction, dn);
  return true;
}

/** The keys of the entries that have an id of their kind, also in quarantine, or the DN with a key. */
async function readHolders(
  transaction: PreviewTransaction,
  kind: EntryKind,
  id: string,
  dnKey: string | null,
): Promise<number[]> {
  const rows = await transaction.query<{ key: number }[]>(
    `select key from entries where (kind = $1 and id_folded = $2) or dn_key = $3::uuid`,
    [kind, foldId(id), dnKey],
  );
  return rows.map(({ key }) => key);
}

/** Whether no user and group of a directory have the same id ([MS-ADTS] 3.1.1.5.1.3). */
function haveCommonIds({ users, groups }: DirectoryMapping): boolean {
  return [users.id, groups.id].every((each) => isSame(each, 'sAMAccountName'));
}

/** Whether a user whom the viewer sees has the id. */
async function isIdOfUser(transaction: PreviewTransaction, id: string): Promise<boolean> {
  const keys = await readHolders(transaction, 'person', id, null);
  return keys.length > 0 && (await transaction.read(IS_AMONG, [keys])).length > 0;
}

/**
 * Returns whether a group that the viewer sees, with its members, or a user whom the viewer sees, names a DN that no entry has.
 * A new group with this DN is a member of that group immediately, and has that user as a member: it discloses them.
 */
export async function isNamed(
  transaction: PreviewTransaction,
  dn: string,
  usersName: boolean,
): Promise<boolean> {
  const key = keyOfDn(dn);
  if (usersName && (await transaction.read(IS_NAMED_BY_USERS, [key])).length > 0) return true;
  return (await transaction.read(IS_NAMED_BY_GROUPS, [key])).length > 0;
}
