import type { Principal } from '../auth/principal.js';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { Overlay } from '../database/statements/preview-transaction.js';
import type { Reader } from '../database/statements/reader.js';
import type { GroupInput } from '../groups/group.inputs.js';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import { roleOf } from '../memberships/role.js';
import type { NamedAs } from '../mirror/map/snapshot.js';
import { readClaimants, readStoredReferences, readSubjects } from '../mirror/plan/stored.js';
import type { UserInput } from '../users/user.inputs.js';
import { NOT_NAMED, type StoredMembership } from './memberships/membership-record.js';
import {
  FIND_GROUP,
  FIND_GROUP_OF_PERSON,
  FIND_MEMBERSHIP,
  FIND_NESTING,
  FIND_PERSON,
  FIND_STANDING,
  groupOf,
  type GroupRow,
  LIST_OUTER_GROUPS,
  LIST_QUARANTINED_DNS,
  type MembershipRow,
  type MirroredGroup,
  type MirroredPerson,
  type OuterGroupRow,
  personOf,
  type PersonRow,
} from './mirrored-entries.queries.js';
import type { Standing } from './policy.js';
import { type Caller, canReadAll, canReadPerson, ownId, unreadable } from './readable-objects.js';

/**
 * A person whom a mutation names.
 * @throws ServiceError INSUFFICIENT_SCOPE, before anything is looked up, for a person whom the token cannot read, and
 *   NOT_FOUND
 */
export async function getPerson(
  { overlay, principal }: Caller,
  { id }: UserInput,
  argument: string,
): Promise<MirroredPerson> {
  if (!canReadPerson(principal, id)) throw unreadable(principal, argument);
  const person = await findPerson(overlay, id);
  if (person === null) throw new NotFoundError('There is no person with this id', argument);
  return person;
}

/**
 * A group that a mutation names. A group that the token cannot read is one that does not exist: the same statement finds
 * neither of them.
 * @throws ServiceError INSUFFICIENT_SCOPE, before anything is looked up, for a token that can read no group, and NOT_FOUND
 */
export async function getGroup(
  { overlay, principal }: Caller,
  { id }: GroupInput,
  argument: string,
): Promise<MirroredGroup> {
  if (canReadAll(principal)) return findOrThrow(overlay.read<GroupRow>(FIND_GROUP, [foldId(id)]), argument);
  const person = ownId(principal);
  if (person === null) throw unreadable(principal, argument);
  return findOrThrow(overlay.read<GroupRow>(FIND_GROUP_OF_PERSON, [foldId(id), person]), argument);
}

/** The group that this operation has made. */
export function getNewGroup(overlay: Overlay, id: string): Promise<MirroredGroup> {
  return findOrThrow(overlay.read<GroupRow>(FIND_GROUP, [foldId(id)]), 'id');
}

/** The person that a token acts for; null: it acts for nobody of the directory. */
export async function findActor(reader: Reader, { subject }: Principal): Promise<MirroredPerson | null> {
  return subject === null ? null : findPerson(reader, subject);
}

/** What the person that a token acts for is in a group. */
export async function readStanding(
  reader: Reader,
  { subject }: Principal,
  group: MirroredGroup,
): Promise<Standing> {
  if (subject === null) return 'NOBODY';
  const [row] = await reader.read<[rank: number | null]>(FIND_STANDING, [group.key, foldId(subject)]);
  if (row === undefined) return 'NOBODY';
  const [rank] = row;
  return rank === null ? 'STRANGER' : roleOf(rank);
}

export async function readMembership(
  reader: Reader,
  group: MirroredGroup,
  person: MirroredPerson,
): Promise<StoredMembership> {
  const keys = [group.key, person.key];
  const [[namedAs, rank] = [null, null]] = await reader.read<MembershipRow>(FIND_MEMBERSHIP, keys);
  return { namedAs: namedAs ?? NOT_NAMED, role: rank === null ? null : roleOf(rank) };
}

/** By what a group names another one. */
export async function readNesting(
  reader: Reader,
  outer: MirroredGroup,
  inner: MirroredGroup,
): Promise<NamedAs> {
  const [[namedAs] = [NOT_NAMED]] = await reader.read<[NamedAs]>(FIND_NESTING, [outer.key, inner.key]);
  return namedAs;
}

/** The groups that name a group, and by what they do. */
export async function listOuterGroups(
  reader: Reader,
  inner: MirroredGroup,
): Promise<{ group: MirroredGroup; namedAs: NamedAs }[]> {
  const rows = await reader.read<OuterGroupRow>(LIST_OUTER_GROUPS, [inner.key]);
  return rows.map(([namedAs, ...row]) => ({ group: groupOf(row), namedAs }));
}

/**
 * Whether an entry has this id or this DN already, also one that is not shown for some reason.
 * @param id of a group, which its DN has in it
 */
export async function isTaken(overlay: Overlay, id: string, dn: string): Promise<boolean> {
  const dnKey = keyOfDn(dn);
  const claimants = await readClaimants(overlay, 'group', [foldId(id)]);
  const subjects = await readSubjects(overlay, [dnKey]);
  const quarantined = await overlay.read<[dn: string]>(LIST_QUARANTINED_DNS, [id]);
  return claimants.length + subjects.size > 0 || quarantined.some(([other]) => keyOfDn(other) === dnKey);
}

/**
 * Whether a group names a DN that is nobody's: an entry of this DN is a member of that group from the beginning, and what
 * is shown below it tells of the group.
 */
export async function isNamed(overlay: Overlay, dn: string): Promise<boolean> {
  return (await readStoredReferences(overlay, [], [keyOfDn(dn)])).length > 0;
}

async function findOrThrow(found: Promise<GroupRow[]>, argument: string): Promise<MirroredGroup> {
  const [row] = await found;
  if (row === undefined) throw new NotFoundError('There is no group with this id', argument);
  return groupOf(row);
}

async function findPerson(reader: Reader, id: string): Promise<MirroredPerson | null> {
  const [row] = await reader.read<PersonRow>(FIND_PERSON, [foldId(id)]);
  return row === undefined ? null : personOf(row);
}
