// @ts-check
import { groupDn, personDn } from './entries.mjs';
import { FEATURED_REPRESENTATIVES } from './structure.mjs';

/**
 * @typedef {import('./groups.mjs').Group} Group
 * @typedef {import('./people.mjs').Person} Person
 *
 * Attributes of a person that the model file describes.
 * @typedef {object} Details
 * @property {string} [title]
 * @property {string} [telephoneNumber]
 * @property {readonly string[]} [mobile]
 * @property {string} [employeeNumber]
 * @property {string} [employeeType] `hidden`: a rule of visibility matches
 * @property {string} [manager] DN
 */

/** People who are visible only to themselves and to the administrators of their groups. */
const HIDDEN = ['zofia.stepien', 'luisa.brandao'];

/** Groups whose members have a mobile number. */
const CALLED = ['chess-club', 'robotics-club', 'peer-counseling', 'form-teachers'];

const HEAD_OF_SCHOOL = 'marguerite.lefevre';

/** @type {Readonly<Record<string, readonly string[]>>} Titles in the teams of the staff, which people have in turn. */
const TITLES = {
  office: ['Secretary'],
  'library-team': ['Librarian'],
  caretakers: ['Caretaker'],
  kitchen: ['Cook', 'Cook', 'Dietitian'],
  'it-services': ['System Administrator'],
  'health-team': ['School Psychologist', 'School Nurse', 'Social Worker'],
};

/**
 * @param {readonly Person[]} people
 * @param {readonly Group[]} groups
 * @returns {ReadonlyMap<string, Details>} by uid
 */
export function detailsOf(people, groups) {
  const positions = positionsIn(groups);
  const numbers = mobileNumbers(people, groups);
  const employed = people.filter(({ kind }) => kind === 'teacher' || kind === 'staff').map(({ uid }) => uid);
  return new Map(
    people.map(({ uid }) => {
      const place = employed.indexOf(uid);
      const mobile = numbers.get(uid);
      return [
        uid,
        {
          ...positions.get(uid),
          // Numbers for works of fiction, which are never assigned.
          ...(place >= 0 && {
            telephoneNumber: `+49 30 23125 ${digits(100 + place)}`,
            employeeNumber: String(1001 + place),
          }),
          ...(mobile !== undefined && { mobile: [mobile] }),
          ...(HIDDEN.includes(uid) && { employeeType: 'hidden' }),
        },
      ];
    }),
  );
}

/**
 * Title and manager of everyone in a department or a team. Its administrator reports to the head of the school.
 * @param {readonly Group[]} groups
 * @returns {ReadonlyMap<string, Pick<Details, 'title' | 'manager'>>}
 */
function positionsIn(groups) {
  const manager = personDn(HEAD_OF_SCHOOL);
  /** @type {[string, Pick<Details, 'title' | 'manager'>][]} */
  const positions = groups.flatMap(({ cn, displayName, member, groupAdmin: [head] = [] }) => {
    const titles = cn.endsWith('-department') ? [`Teacher of ${displayName}`] : TITLES[cn];
    if (titles === undefined || head === undefined) return [];
    return member.map((dn, index) => [
      uidOf(dn),
      dn === head
        ? { title: `Head of ${displayName}`, manager }
        : { title: titles[index % titles.length], manager: head },
    ]);
  });
  const deputies = groups.find(({ cn }) => cn === 'head-office')?.member ?? [];
  return new Map([
    ...positions,
    .../** @type {[string, Pick<Details, 'title' | 'manager'>][]} */ (
      deputies.map((dn) => [
        uidOf(dn),
        dn === manager ? { title: 'Head of School' } : { title: 'Deputy Head', manager },
      ])
    ),
  ]);
}

/**
 * @param {readonly Person[]} people
 * @param {readonly Group[]} groups
 * @returns {ReadonlyMap<string, string>}
 */
function mobileNumbers(people, groups) {
  const called = new Set(
    groups.filter(({ cn }) => CALLED.includes(cn)).flatMap(({ member }) => member.map(uidOf)),
  );
  const having = people.filter(({ uid }) => called.has(uid) || FEATURED_REPRESENTATIVES.includes(uid));
  return new Map(
    having.map(({ uid }, index) => [
      uid,
      index < 100 ? `+49 171 39200${digits(index, 2)}` : `+49 176 04069${digits(index - 100, 2)}`,
    ]),
  );
}

/** @type {Readonly<Record<string, string>>} Values of `roomNumber` by group. Others follow from the kind of the group. */
const ROOMS = {
  'school-board': 'C 301',
  'head-office': 'C 300',
  'student-council': 'D 001',
  'student-council-presidium': 'D 001',
  'swimming-club': 'Pool',
  'climbing-club': 'Gym, climbing wall',
  'astronomy-club': 'Roof',
  'garden-club': 'Garden',
  'school-radio': 'D 013',
  choir: 'Assembly hall',
  orchestra: 'Assembly hall',
  theatre: 'Assembly hall',
  'chess-club': 'D 101',
  'robotics-club': 'D 102',
  'coding-club': 'D 103',
  'mathematics-circle': 'B 209',
  'language-cafe': 'Cafeteria',
  'peer-counseling': 'D 204',
};

/**
 * @param {Group} group
 * @param {readonly Group[]} groups
 * @returns {string | undefined}
 */
export function roomOf({ cn, groupAdmin }, groups) {
  const [, year, letter] = /^class-(\d)(\w)$/.exec(cn) ?? [];
  if (year !== undefined && letter !== undefined) return `A ${year}${digits(letter.charCodeAt(0) - 96, 2)}`;
  const departments = groups.filter((group) => group.cn.endsWith('-department'));
  const place = departments.findIndex((group) => group.cn === cn);
  if (place >= 0) return `B ${209 + place}`;
  const team = Object.keys(TITLES).indexOf(cn);
  if (team >= 0) return `C ${101 + team}`;
  return ROOMS[cn] ?? (groupAdmin?.includes(groupDn('sports-council')) ? 'Gym' : undefined);
}

/** @param {string} dn */
function uidOf(dn) {
  return dn.slice(dn.indexOf('=') + 1, dn.indexOf(','));
}

/**
 * @param {number} number
 * @param {number} [length]
 */
function digits(number, length = 3) {
  return String(number).padStart(length, '0');
}
