import { foldId } from '../../common/identity.js';
import type { NamedBy, RoleMapping } from '../../config/model/mapping.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { dnOfNameAndUid } from '../../ldap/naming/dn.js';
import type { Evidence, FoundAttribute } from './evidence.js';

type Found = ReadonlyMap<string, FoundAttribute>;

/** The usual attributes of each role, and how their values name entries. */
const USUAL: Readonly<Record<'members' | 'admins' | 'owners', Readonly<Record<string, NamedBy>>>> = {
  members: { member: 'dn', uniqueMember: 'dn', memberUid: 'id' },
  admins: { groupAdmin: 'dn' },
  owners: { owner: 'dn', managedBy: 'dn' },
};
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The share of the sampled values that name entries, in an attribute of members. */
const MOSTLY = 0.5;

export type GuessedRoles = Readonly<Record<'members' | 'admins' | 'owners', RoleMapping>>;

/**
 * Recognizes the attributes of groups that name members, admins and owners (pure). Of several forms, the one that most groups use is
 * the first.
 */
export function guessRoles(found: Found, evidence: Evidence, idOfUsers: string | null): GuessedRoles {
  const usual = guessUsual('members', found);
  const members = usual.length > 0 ? usual : guessMembers(found, evidence, idOfUsers);
  return { members, admins: guessUsual('admins', found), owners: guessUsual('owners', found) };
}

function guessUsual(role: keyof GuessedRoles, found: Found): RoleMapping {
  const present = Object.entries(USUAL[role]).flatMap(([name, by]) => {
    const attribute = found.get(name.toLowerCase());
    return attribute === undefined ? [] : [{ name, by, count: attribute.count }];
  });
  const ways = [...present].sort((left, right) => right.count - left.count).map(({ by }) => by);
  return [...new Set(ways)].map((by) => ({
    attributes: present.filter((each) => each.by === by).map(({ name }) => name),
    by,
  }));
}

/** The attribute most of whose values name users or groups, for a group without any usual attribute. */
function guessMembers(found: Found, evidence: Evidence, idOfUsers: string | null): RoleMapping {
  const namesEntry = entryNames(evidence, idOfUsers);
  const others = new Set(
    [...Object.keys(USUAL.admins), ...Object.keys(USUAL.owners)].map((each) => each.toLowerCase()),
  );
  for (const { key, name, values } of byCount(found)) {
    if (values === null || values.length === 0 || others.has(key)) continue;
    for (const by of ['dn', 'uuid', 'id'] as const) {
      const named = values.filter((value) => namesEntry[by](value)).length;
      if (named > values.length * MOSTLY) return [{ attributes: [name], by }];
    }
  }
  return [];
}

/** Attributes with several values in one group first: a group has more members than owners. */
function byCount(found: Found): FoundAttribute[] {
  return [...found.values()].sort(
    (left, right) => Number(right.isMultiple) - Number(left.isMultiple) || right.count - left.count,
  );
}

function entryNames(
  { users, targets }: Evidence,
  idOfUsers: string | null,
): Record<NamedBy, (value: string) => boolean> {
  const valuesOf = (attribute: string) => users.entries.flatMap((entry) => entry.text(attribute));
  const uuids = new Set(valuesOf('entryUUID').map((each) => each.toLowerCase()));
  const ids = new Set(idOfUsers === null ? [] : valuesOf(idOfUsers).map(foldId));
  return {
    dn: (value) => value.includes('=') && targets.has(keyOfDn(dnOfNameAndUid(value))),
    uuid: (value) => UUID.test(value) && uuids.has(value.toLowerCase()),
    id: (value) => ids.has(foldId(value)),
  };
}
