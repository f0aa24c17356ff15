import type { Principal } from '../auth/principal.js';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { Overlay } from '../database/overlay.js';
import type { Reader } from '../database/reader.js';
import type { GroupInput } from '../groups/group.inputs.js';
import { keyOfDn } from '../ldap/dn-key.js';
import { roleOf } from '../memberships/role.js';
import type { NamedAs } from '../mirror/snapshot.js';
import { readClaimants, readSubjects } from '../mirror/stored.js';
import type { UserInput } from '../users/user.inputs.js';
import { NOT_NAMED, type StoredMembership } from './membership-record.js';
import {
  FIND_GROUP,
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
} from './mirrored.queries.js';
import type { Standing } from './policy.js';

/** @throws NotFoundError */
export async function getPerson(
  reader: Reader,
  { id }: UserInput,
  argument: string,
): Promise<MirroredPerson> {
  const person = await findPerson(reader, id);
  if (person === null) throw new NotFoundError('There is no person with this id', argument);
  return person;
}

/** @throws NotFoundError */
export async function getGroup(reader: Reader, { id }: GroupInput, argument: string): Promise<MirroredGroup> {
  const [row] = await reader.read<GroupRow>(FIND_GROUP, [foldId(id)]);
  if (row === undefined) throw new NotFoundError('There is no group with this id', argument);
  return groupOf(row);
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

async function findPerson(reader: Reader, id: string): Promise<MirroredPerson | null> {
  const [row] = await reader.read<PersonRow>(FIND_PERSON, [foldId(id)]);
  return row === undefined ? null : personOf(row);
}
