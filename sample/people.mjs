// @ts-check
import { FEATURED } from './featured.mjs';
import { asciiFor, CULTURES } from './names.mjs';
import { randomFor } from './random.mjs';

/**
 * @typedef {'student' | 'teacher' | 'staff' | 'alumni'} Kind
 *
 * @typedef {object} Person
 * @property {string} uid
 * @property {Kind} kind
 * @property {boolean} woman decides the given name, and which hair styles are likely
 * @property {string} cn in Latin letters
 * @property {string} [displayName] as the person writes it
 * @property {string} [givenName]
 * @property {string} sn
 * @property {string} [mail]
 * @property {string} [schoolYear] students only: `3B`
 * @property {boolean} hasPhoto
 * @property {boolean} hasPicture
 * @property {Date} created
 * @property {Date} modified
 *
 * @typedef {Pick<Person, 'uid' | 'woman' | 'cn' | 'displayName' | 'givenName' | 'sn'>} Naming
 */

export const YEARS = [1, 2, 3, 4, 5, 6];
export const CLASS_LETTERS = [...'ABCDEFGHIJ'];
export const CLASSES = YEARS.flatMap((year) => CLASS_LETTERS.map((letter) => `${year}${letter}`));

const STUDENTS_IN_A_CLASS = 29;
const TEACHERS = 180;
const STAFF = 50;
const ALUMNI = 30;

const AUTUMN_OF_THIS_SCHOOL_YEAR = 2025;
const LAST_CHANGE = Date.UTC(2026, 1, 27, 16, 0, 0);

/** @returns {Person[]} the featured people, then students by class, teachers, staff and alumni */
export function buildPeople() {
  /** @type {Set<string>} */
  const taken = new Set();
  const people = FEATURED.map((featured) => {
    taken.add(featured.uid);
    const { mail = mailOf(featured.uid), ...rest } = featured;
    return {
      ...rest,
      ...(mail && { mail }),
      ...timestampsOf(featured.uid, featured.kind, featured.schoolYear),
    };
  });

  for (const { kind, schoolYear, size } of placesToFill()) {
    const present = people.filter(
      (person) => person.kind === kind && person.schoolYear === schoolYear,
    ).length;
    for (let place = present; place < size; place++) {
      people.push(buildPerson(kind, schoolYear, `${kind} ${schoolYear ?? ''} ${place}`, taken));
    }
  }
  return people;
}

/** @returns {{ kind: Kind, schoolYear?: string, size: number }[]} */
function placesToFill() {
  return [
    ...CLASSES.map((schoolYear) => ({
      kind: /** @type {const} */ ('student'),
      schoolYear,
      size: STUDENTS_IN_A_CLASS,
    })),
    { kind: 'teacher', size: TEACHERS },
    { kind: 'staff', size: STAFF },
    { kind: 'alumni', size: ALUMNI },
  ];
}

/**
 * @param {Kind} kind
 * @param {string | undefined} schoolYear
 * @param {string} place
 * @param {Set<string>} taken
 * @returns {Person}
 */
function buildPerson(kind, schoolYear, place, taken) {
  const random = randomFor('person', place);
  const { uid: wanted, ...naming } = buildNaming(random);
  const uid = uniqueFor(wanted, taken);
  const { displayName, ...required } = naming;
  return {
    uid,
    kind,
    ...required,
    ...(random.chance(0.98) && { displayName }),
    ...(random.chance(0.94) && { mail: mailOf(uid) }),
    ...(schoolYear && { schoolYear }),
    hasPhoto: random.chance(0.5),
    hasPicture: random.chance(0.1),
    ...timestampsOf(uid, kind, schoolYear),
  };
}

/**
 * @param {import('./random.mjs').Random} random
 * @returns {Naming}
 */
function buildNaming(random) {
  const culture = random.weighted(CULTURES.map((choice) => [choice.weight, choice]));
  const woman = random.chance(0.5);
  const family = buildFamilyName(culture, woman, random);
  const givenNames = woman ? culture.women : culture.men;
  if (givenNames.length === 0) {
    return {
      uid: asciiFor(family.latin, culture.language),
      cn: family.latin,
      displayName: family.written,
      sn: family.written,
      woman,
    };
  }
  const given = random.pick(givenNames);
  const ordered = culture.familyFirst ? [family, given] : [given, family];
  const displayName = ordered.map((part) => part.written).join(culture.separator);
  const inLatinLetters = given.written === given.latin;
  return {
    uid: `${asciiFor(given.latin, culture.language)}.${asciiFor(family.latin, culture.language)}`,
    cn: inLatinLetters ? displayName : `${given.latin} ${family.latin}`,
    displayName,
    givenName: given.written,
    sn: family.written,
    woman,
  };
}

/**
 * @param {import('./names.mjs').Culture} culture
 * @param {boolean} woman
 * @param {import('./random.mjs').Random} random
 * @returns {import('./names.mjs').Name}
 */
function buildFamilyName(culture, woman, random) {
  const [first, second] = random
    .shuffle(culture.families)
    .map((family) => (woman ? family.women : family.men));
  if (!random.chance(culture.doubled)) return first;
  return {
    written: `${first.written}${culture.doubledWith}${second.written}`,
    latin: `${first.latin}-${second.latin}`,
  };
}

/**
 * @param {string} wanted
 * @param {Set<string>} taken
 */
function uniqueFor(wanted, taken) {
  let uid = wanted;
  for (let number = 2; taken.has(uid); number++) uid = `${wanted}${number}`;
  taken.add(uid);
  return uid;
}

/** @param {string} uid */
function mailOf(uid) {
  return `${uid}@example.org`;
}

/**
 * Students were added in the summer before their first year, all others in one of the last twelve years.
 * @param {string} uid
 * @param {Kind} kind
 * @param {string | undefined} schoolYear
 */
function timestampsOf(uid, kind, schoolYear) {
  const random = randomFor('timestamps', uid);
  const yearsAgo = kind === 'student' ? Number.parseInt(schoolYear ?? '1', 10) - 1 : random.integer(0, 11);
  const created = Date.UTC(
    AUTUMN_OF_THIS_SCHOOL_YEAR - yearsAgo,
    random.integer(6, 7),
    random.integer(1, 31),
    random.integer(7, 16),
    random.integer(0, 59),
    random.integer(0, 59),
  );
  const modified = created + Math.floor((LAST_CHANGE - created) * random.number() ** 0.5);
  return { created: new Date(created), modified: new Date(random.chance(0.3) ? created : modified) };
}
