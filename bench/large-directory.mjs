// The large directory of the measurements: users, and groups nested three levels deep. It is deterministic.
import { makeRandom } from './data/random.mjs';

export const BASE = 'dc=example,dc=org';

export const personDn = (number) => `uid=person.${number},ou=people,${BASE}`;
export const groupDn = (number) => `cn=group-${number},ou=groups,${BASE}`;

/** A fifth of the groups is at the outermost level. */
export const LARGE = { people: 50_000, groups: 5_000, memberships: 300_000 };

function* people(count, renamed) {
  for (let number = 0; number < count; number++) {
    const name = number === renamed ? 'Another Name' : `Person Ünal ${number}`;
    yield [
      `dn: ${personDn(number)}`,
      'objectClass: inetOrgPerson',
      'objectClass: directoryPerson',
      `uid: person.${number}`,
      `cn:: ${Buffer.from(name).toString('base64')}`,
      `givenName: Person`,
      `sn: Number ${number}`,
      `mail: person.${number}@example.org`,
      `schoolYear: ${1 + (number % 6)}${'ABCD'[number % 4]}`,
    ];
  }
}

/** Four groups in five are inside another one, and of those one in five has groups inside: three levels. */
function* groups(size) {
  const random = makeRandom(7);
  const pick = (count) => Math.floor(random() * count);
  const outermost = size.groups / 5;
  const middle = outermost * 2;
  const inside = Array.from({ length: size.groups }, () => []);
  for (let number = outermost; number < size.groups; number++) {
    inside[number < middle ? pick(outermost) : outermost + pick(outermost)].push(number);
  }
  const each = size.memberships / size.groups;
  for (let number = 0; number < size.groups; number++) {
    const members = new Set();
    while (members.size < each) members.add(pick(size.people));
    const [owner, ...others] = [...members];
    yield [
      `dn: ${groupDn(number)}`,
      'objectClass: groupOfNames',
      'objectClass: directoryGroup',
      `cn: group-${number}`,
      `displayName: Group ${number}`,
      `owner: ${personDn(owner)}`,
      ...others.map((member) => `member: ${personDn(member)}`),
      ...inside[number].map((inner) => `member: ${groupDn(inner)}`),
    ];
  }
}

/**
 * The records of a directory, as lines.
 * @param renamed the number of a user with another name
 */
export function* records(size = LARGE, renamed = null) {
  yield* people(size.people, renamed);
  yield* groups(size);
}
