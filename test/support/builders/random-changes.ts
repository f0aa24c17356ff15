import fc from 'fast-check';
import { BASE_DN } from './directory.js';
import type { DumpedEntry } from './ldap-content.js';

/** Builds change records for the current content. The server rejects changes that have become impossible. */
export type DirectoryChange = (entries: readonly DumpedEntry[]) => string;

const PEOPLE = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7'];
const GROUPS = ['g0', 'g1', 'g2', 'g3', 'g4'];
/** A few ids that differ only in case, so that they collide. */
const IDS = ['u0', 'u1', 'U1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u8'];
const NAMES = ['Anna', 'Łukasz Żak', '李小龙', 'anna', ' spaced '];

/** Possible DNs of users and groups. */
export const PEOPLE_UNITS = ['ou=people', 'ou=a,ou=people', 'ou=b,ou=a,ou=people', 'ou=away'];
export const GROUP_UNITS = ['ou=groups', 'ou=sub,ou=groups', 'ou=away'];

/** The smallest valid picture. */
const PHOTOS = [
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==',
];

/** Changes for the content at one moment. */
export function changesInOneGo(minLength = 1, maxLength = 4): fc.Arbitrary<DirectoryChange[]> {
  return fc.array(change, { minLength, maxLength });
}

const person = fc.constantFrom(...PEOPLE);
const group = fc.constantFrom(...GROUPS);
const id = fc.constantFrom(...IDS);
const role = fc.constantFrom('member', 'member', 'groupAdmin', 'owner');
const names = fc.uniqueArray(fc.constantFrom(...PEOPLE, ...PEOPLE, ...GROUPS), {
  minLength: 1,
  maxLength: 5,
});

const change: fc.Arbitrary<DirectoryChange> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(person, fc.constantFrom(...PEOPLE_UNITS), id).map((drawn) => addPerson(...drawn)),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(group, fc.constantFrom(...GROUP_UNITS), names).map((drawn) => addGroup(...drawn)),
  },
  { weight: 2, arbitrary: fc.oneof(person, group).map((cn) => remove(cn)) },
  { weight: 3, arbitrary: fc.tuple(person, fc.option(id)).map(([cn, uid]) => replace(cn, 'uid', uid)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.oneof(person, group), fc.option(fc.constantFrom(...NAMES)))
      .map(([cn, name]) => replace(cn, 'displayName', name)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(person, fc.option(fc.constantFrom(...PHOTOS)))
      .map(([cn, photo]) => replace(cn, 'jpegPhoto', photo, ':: ')),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(person, person, fc.option(fc.constantFrom(...PEOPLE_UNITS)))
      .map((drawn) => move(...drawn)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(group, group, fc.option(fc.constantFrom(...GROUP_UNITS)))
      .map((drawn) => move(...drawn)),
  },
  { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'sub').chain((ou) => moveUnit(ou)) },
  {
    weight: 6,
    arbitrary: fc.tuple(group, role, names).map(([cn, attribute, of]) => name(cn, attribute, of)),
  },
  { weight: 3, arbitrary: fc.tuple(group, fc.nat(30)).map(([cn, index]) => dropName(cn, index)) },
  { weight: 3, arbitrary: fc.tuple(person, person).map(([one, other]) => swap(one, other)) },
);

function addPerson(cn: string, unit: string, uid: string): DirectoryChange {
  return () =>
    `dn: cn=${cn},${unit},${BASE_DN}\nchangetype: add\nobjectClass: inetOrgPerson\nobjectClass: directoryPerson\nuid: ${uid}\ncn: ${cn}\nsn: ${cn}\nmail: ${uid}@example.org\n`;
}

function addGroup(cn: string, unit: string, members: readonly string[]): DirectoryChange {
  return (entries) =>
    `dn: cn=${cn},${unit},${BASE_DN}\nchangetype: add\nobjectClass: groupOfNames\nobjectClass: directoryGroup\ncn: ${cn}\n${members.map((each) => `member: ${dnOf(each, entries)}\n`).join('')}`;
}

function remove(cn: string): DirectoryChange {
  return (entries) => `dn: ${dnOf(cn, entries)}\nchangetype: delete\n`;
}

function replace(cn: string, attribute: string, value: string | null, separator = ': '): DirectoryChange {
  const line = value === null ? '' : `${attribute}${separator}${value}\n`;
  return (entries) => `dn: ${dnOf(cn, entries)}\nchangetype: modify\nreplace: ${attribute}\n${line}`;
}

function swap(one: string, other: string): DirectoryChange {
  return (entries) => {
    const uidOf = (cn: string) =>
      entries
        .find(({ dn }) => dn === dnOf(cn, entries))
        ?.values.get('uid')?.[0]
        ?.toString() ?? 'u9';
    return [replace(one, 'uid', uidOf(other)), replace(other, 'uid', uidOf(one))]
      .map((each) => each(entries))
      .join('\n');
  };
}

function move(cn: string, newName: string, unit: string | null): DirectoryChange {
  const superior = unit === null ? '' : `newsuperior: ${unit},${BASE_DN}\n`;
  return (entries) =>
    `dn: ${dnOf(cn, entries)}\nchangetype: moddn\nnewrdn: cn=${newName}\ndeleteoldrdn: 1\n${superior}`;
}

/** The RDN stays, so that the entry can be found: it moves to another parent, with all entries below it. */
function moveUnit(ou: string): fc.Arbitrary<DirectoryChange> {
  const superiors = ou === 'sub' ? ['ou=groups', 'ou=away'] : ['ou=people', 'ou=away'];
  return fc.constantFrom(...superiors).map((superior) => (entries) => {
    const unit =
      entries.find(({ dn }) => dn.startsWith(`ou=${ou},`))?.dn ?? `ou=${ou},${superior},${BASE_DN}`;
    return `dn: ${unit}\nchangetype: moddn\nnewrdn: ou=${ou}\ndeleteoldrdn: 1\nnewsuperior: ${superior},${BASE_DN}\n`;
  });
}

function name(cn: string, attribute: string, of: readonly string[]): DirectoryChange {
  return (entries) =>
    `dn: ${dnOf(cn, entries)}\nchangetype: modify\nreplace: ${attribute}\n${of.map((each) => `${attribute}: ${dnOf(each, entries)}\n`).join('')}`;
}

function dropName(cn: string, index: number): DirectoryChange {
  return (entries) => {
    const dn = dnOf(cn, entries);
    const entry = entries.find((each) => each.dn === dn);
    const all = ['member', 'owner', 'groupadmin'].flatMap((attribute) =>
      (entry?.values.get(attribute) ?? []).map((value) => [attribute, value.toString()] as const),
    );
    const [attribute, value] = all[index % Math.max(all.length, 1)] ?? ['member', dn];
    return `dn: ${dn}\nchangetype: modify\ndelete: ${attribute}\n${attribute}: ${value}\n`;
  };
}

/** The current DN of a user, or a possible one. */
function dnOf(cn: string, entries: readonly DumpedEntry[]): string {
  const unit = cn.startsWith('g') ? 'ou=groups' : 'ou=people';
  return entries.find(({ dn }) => dn.startsWith(`cn=${cn},`))?.dn ?? `cn=${cn},${unit},${BASE_DN}`;
}
