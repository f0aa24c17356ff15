// @ts-check
import { CLUB_FAMILIES } from './clubs.mjs';
import { PEOPLE_DN, groupDn, groupDns, personDn } from './entries.mjs';
import { randomFor } from './random.mjs';
import { lotsOf } from './selection.mjs';
import { FEATURED_ROLES } from './structure.mjs';

/**
 * @typedef {import('./groups.mjs').Group} Group
 * @typedef {import('./people.mjs').Person} Person
 */

/**
 * @param {readonly Person[]} people
 * @returns {Group[]}
 */
export function buildClubs(people) {
  const students = lotsOf(people, 'student');
  const teachers = lotsOf(people, 'teacher');
  return [
    {
      cn: 'clubs',
      displayName: 'Clubs',
      description: 'All clubs of the school.',
      labeledURI: 'https://clubs.school.example.org/',
      member: groupDns(...CLUB_FAMILIES.map((family) => family.cn), 'yearbook'),
    },
    ...CLUB_FAMILIES.flatMap(({ clubs, ...family }) => [
      {
        ...family,
        member: groupDns(
          ...clubs.map(({ cn }) => cn),
          ...(family.cn === 'sports-clubs' ? ['sailing-club'] : []),
        ),
      },
      ...clubs.map((club) => buildClub(club, students, teachers)),
    ]),
    {
      cn: 'sailing-club',
      displayName: 'Sailing Club',
      description: 'Waits for a lake, a boat and its first member.',
      // An empty `groupOfNames` is not allowed, hence the usual placeholder.
      member: groupDns('sailing-club'),
    },
    {
      cn: 'yearbook',
      displayName: 'Yearbook',
      description: 'Photographs, quotations and the truth about the trip to Reykjavík.',
      member: [
        ...randomFor('yearbook').shuffle(students).slice(0, 11).map(personDn),
        // The same person in another writing: DNs are compared without regard to case and to spaces around commas.
        `UID=Zoe.Mueller-Brandt, ${PEOPLE_DN.replace('ou=people', 'OU=People')}`,
        // Left the school; the entry is gone and its name is still here, as in any directory without refint.
        personDn('jonas.vandermeer'),
      ],
      groupAdmin: [personDn('anna.svensson')],
    },
    {
      cn: 'surprise-party',
      displayName: 'Surprise Party',
      description: 'Prepares the twentieth anniversary of our head of school, who does not know.',
      businessCategory: 'secret',
      member: ['ada.martin', 'anna.svensson', 'eleni.papadopoulou', 'yusuf.al-rashid'].map(personDn),
      owner: [personDn('sean.obrien')],
    },
    {
      cn: 'peer-counseling',
      displayName: 'Peer Counseling',
      description: 'Students listen to students. Their names stay among them.',
      businessCategory: 'private',
      member: [
        'anna.svensson',
        'zofia.stepien',
        ...randomFor('peer-counseling').shuffle(students).slice(0, 10),
      ].map(personDn),
      groupAdmin: [personDn('anna.svensson')],
      owner: groupDns('health-team'),
    },
  ];
}

/**
 * @param {import('./clubs.mjs').Club} club
 * @param {readonly string[]} students
 * @param {readonly string[]} teachers
 * @returns {Group}
 */
function buildClub({ size, adminGroup, ownerGroup, ...club }, students, teachers) {
  const random = randomFor('club', club.cn);
  const members = random.shuffle(students).slice(0, size);
  const admins = members.slice(0, random.integer(0, 2));
  const featured = FEATURED_ROLES[club.cn] ?? {};
  const owners = featured.owner ?? (ownerGroup ? [] : [random.pick(teachers)]);
  return {
    ...club,
    member: [...(featured.member ?? []), ...members].map(personDn),
    groupAdmin: [
      ...[...(featured.groupAdmin ?? []), ...admins].map(personDn),
      ...(adminGroup ? [groupDn(adminGroup)] : []),
    ],
    owner: [...owners.map(personDn), ...(ownerGroup ? [groupDn(ownerGroup)] : [])],
  };
}
