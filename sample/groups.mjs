// @ts-check
import { buildClubs } from './club-groups.mjs';
import { groupDn, groupDns, personDn } from './entries.mjs';
import { CLASS_LETTERS, CLASSES, YEARS } from './people.mjs';
import { randomFor } from './random.mjs';
import { isNotFeatured, lotsOf, uidsOf } from './selection.mjs';
import { DEPARTMENTS, FEATURED_REPRESENTATIVES, STAFF_TEAMS } from './structure.mjs';

/**
 * @typedef {import('./people.mjs').Person} Person
 *
 * @typedef {object} Group
 * @property {string} cn
 * @property {string} displayName
 * @property {string} description
 * @property {string} [mail]
 * @property {string} [labeledURI]
 * @property {string} [businessCategory] `secret` or `private`: a rule of visibility matches
 * @property {readonly string[]} member DNs of people and of groups; a `groupOfNames` has at least one
 * @property {readonly string[]} [groupAdmin] DNs
 * @property {readonly string[]} [owner] DNs
 */

/**
 * The arrows from a group to the groups it names never lead back, apart from the two of the alumni.
 * @param {readonly Person[]} people
 * @returns {Group[]}
 */
export function buildGroups(people) {
  const representatives = chooseRepresentatives(people);
  return [
    ...buildSchool(),
    ...YEARS.map(buildYear),
    ...CLASSES.map((schoolYear, index) => buildClass(schoolYear, people, representatives[index])),
    ...buildTeachers(people),
    ...buildStaff(people),
    ...buildCouncils(people, representatives),
    ...buildAlumni(people),
    ...buildClubs(people),
  ];
}

/** @returns {Group[]} */
function buildSchool() {
  return [
    {
      cn: 'school',
      displayName: 'Example School',
      description: 'Everybody at our school.',
      labeledURI: 'https://school.example.org/ Our school',
      member: groupDns('students', 'teachers', 'staff'),
      groupAdmin: groupDns('head-office'),
      owner: groupDns('school-board'),
    },
    {
      cn: 'students',
      displayName: 'Students',
      description: 'All students, by year and class.',
      member: YEARS.map((year) => groupDn(`year-${year}`)),
      groupAdmin: groupDns('form-teachers'),
      owner: groupDns('head-office'),
    },
  ];
}

/**
 * @param {number} year
 * @returns {Group}
 */
function buildYear(year) {
  return {
    cn: `year-${year}`,
    displayName: `Year ${year}`,
    description: `All classes of year ${year}.`,
    mail: `year-${year}@example.org`,
    member: CLASS_LETTERS.map((letter) => groupDn(`class-${year}${letter.toLowerCase()}`)),
  };
}

/**
 * @param {string} schoolYear
 * @param {readonly Person[]} people
 * @param {string} representative
 * @returns {Group}
 */
function buildClass(schoolYear, people, representative) {
  return {
    cn: `class-${schoolYear.toLowerCase()}`,
    displayName: `Class ${schoolYear}`,
    description: `The students of class ${schoolYear}. Their representative keeps the list.`,
    member: uidsOf(people, (person) => person.schoolYear === schoolYear).map(personDn),
    groupAdmin: [personDn(representative)],
  };
}

/**
 * @param {readonly Person[]} people
 * @returns {Group[]}
 */
function buildTeachers(people) {
  const teachers = uidsOf(people, (person) => person.kind === 'teacher');
  const random = randomFor('teachers');
  return [
    {
      cn: 'teachers',
      displayName: 'Teachers',
      description: 'All teachers, by department.',
      mail: 'teachers@example.org',
      member: DEPARTMENTS.map(([cn]) => groupDn(cn)),
      groupAdmin: groupDns('head-office'),
      owner: [personDn('marguerite.lefevre')],
    },
    ...shareOut(teachers, DEPARTMENTS, { 'mathematics-department': 'tomas.dvorak' }),
    {
      cn: 'form-teachers',
      displayName: 'Form Teachers',
      description: 'One teacher for every class.',
      member: random.shuffle(teachers).slice(0, CLASSES.length).map(personDn),
      owner: groupDns('head-office'),
    },
  ];
}

/**
 * @param {readonly Person[]} people
 * @returns {Group[]}
 */
function buildStaff(people) {
  const staff = uidsOf(people, (person) => person.kind === 'staff');
  const [headOffice, others] = [staff.slice(2, 5), ['yusuf.al-rashid', ...staff.slice(5)]];
  return [
    {
      cn: 'staff',
      displayName: 'Staff',
      description: 'Everybody who works here and does not teach.',
      mail: 'staff@example.org',
      member: groupDns('head-office', ...STAFF_TEAMS.map(([cn]) => cn)),
      owner: groupDns('head-office'),
    },
    {
      cn: 'head-office',
      displayName: 'Head Office',
      description: 'The head of the school and her deputies.',
      mail: 'head@example.org',
      member: ['marguerite.lefevre', ...headOffice].map(personDn),
      owner: [personDn('marguerite.lefevre')],
    },
    ...shareOut(others, STAFF_TEAMS, { 'it-services': 'yusuf.al-rashid' }),
  ];
}

/**
 * Assigns each person to one team, and one of each team as its administrator.
 * @param {readonly string[]} uids
 * @param {import('./structure.mjs').Titles} teams
 * @param {Readonly<Record<string, string>>} heads administrators that are not chosen at random
 * @returns {Group[]}
 */
function shareOut(uids, teams, heads) {
  const chosen = new Set(Object.values(heads));
  const others = uids.filter((uid) => !chosen.has(uid));
  return teams.map(([cn, displayName, description], index) => {
    const drawn = others.filter((_, place) => place % teams.length === index);
    const head = heads[cn] ?? drawn[0];
    return {
      cn,
      displayName,
      description,
      member: [...new Set([head, ...drawn])].map(personDn),
      groupAdmin: [personDn(head)],
    };
  });
}

/**
 * @param {readonly Person[]} people
 * @param {readonly string[]} representatives
 * @returns {Group[]}
 */
function buildCouncils(people, representatives) {
  const random = randomFor('councils');
  const teachers = lotsOf(people, 'teacher');
  const students = lotsOf(people, 'student');
  return [
    {
      cn: 'school-board',
      displayName: 'School Board',
      description: 'Decides on money, buildings and timetables, four times a year.',
      member: ['marguerite.lefevre', 'bjorn.lindqvist', ...random.shuffle(teachers).slice(0, 4)].map(
        personDn,
      ),
      owner: [personDn('marguerite.lefevre')],
    },
    {
      cn: 'class-representatives',
      displayName: 'Class Representatives',
      description: 'One student of every class, elected in September.',
      member: representatives.map(personDn),
    },
    {
      cn: 'student-council',
      displayName: 'Student Council',
      description: 'The parliament of the students. It looks after the clubs that it founded.',
      mail: 'council@example.org',
      labeledURI: 'https://council.school.example.org/ Minutes and motions',
      member: groupDns('class-representatives'),
      groupAdmin: groupDns('student-council-presidium'),
      owner: [personDn('eleni.papadopoulou')],
    },
    {
      cn: 'student-council-presidium',
      displayName: 'Presidium of the Student Council',
      description: 'Five students, with Seán in the chair.',
      member: ['sean.obrien', ...random.shuffle(representatives.filter(isNotFeatured)).slice(0, 4)].map(
        personDn,
      ),
      groupAdmin: [personDn('sean.obrien')],
    },
    {
      cn: 'sports-council',
      displayName: 'Sports Council',
      description: 'Captains of the teams. They keep the lists of all sports clubs.',
      member: random.shuffle(students).slice(0, 12).map(personDn),
      owner: groupDns('physical-education-department'),
    },
  ];
}

/**
 * @param {readonly Person[]} people
 * @returns {Group[]}
 */
function buildAlumni(people) {
  const alumni = uidsOf(people, (person) => person.kind === 'alumni');
  return [
    {
      cn: 'alumni',
      displayName: 'Alumni',
      description: 'Former students who stayed in touch.',
      mail: 'alumni@example.org',
      member: alumni.map(personDn),
      groupAdmin: groupDns('alumni-board'),
    },
    {
      cn: 'alumni-board',
      displayName: 'Alumni Board',
      description:
        'Elected by the alumni. Counts the friends among its members, who count the board among theirs.',
      member: [...alumni.slice(0, 6).map(personDn), groupDn('alumni-friends')],
      owner: [personDn('bjorn.lindqvist')],
    },
    {
      cn: 'alumni-friends',
      displayName: 'Friends of the Alumni',
      description: 'Raises money for instruments, journeys and the roof.',
      member: [...alumni.slice(6, 18).map(personDn), groupDn('alumni-board')],
    },
  ];
}

/**
 * @param {readonly Person[]} people
 * @returns {string[]} one uid for every class, in the order of the classes
 */
function chooseRepresentatives(people) {
  return CLASSES.map((schoolYear) => {
    const candidates = uidsOf(people, (person) => person.schoolYear === schoolYear);
    const elected = candidates.find((uid) => FEATURED_REPRESENTATIVES.includes(uid));
    return elected ?? randomFor('representative', schoolYear).pick(candidates.filter(isNotFeatured));
  });
}
