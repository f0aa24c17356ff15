// Whom and what the questions are about.
import { makeRandom, shuffle } from './random.mjs';

/** Groups that are asked for again and again, by those who may remember them. */
const FAMILIAR = 200;
/** Requests that are different, at most: more than are sent to anybody. A small directory has fewer. */
const DIFFERENT = 300_000;
/** Share of them for each of those who are sent so many a second, and who may have been sent the others. */
const PACED = 1 / 12;

/**
 * @param {import('pg').Client} connection
 * @returns ids of ordinary groups, of large ones, of people with more groups than a page shows, and what is searched for
 */
export async function chooseSubjects(connection) {
  const list = async (sql) => (await connection.query({ text: sql, rowMode: 'array' })).rows.flat();
  const random = makeRandom(11);
  const groups = await list(`
    select id from groups g where exists (select from memberships m where m.group_key = g.key) order by key`);
  return {
    groups: shuffle(groups, random),
    largeGroups: await list('select id from groups where key between 2 and 10 order by key'),
    people: shuffle(await list('select id from users where group_count > 20 order by key'), random),
    terms: makeTerms(shuffle(await list('select sort_name from users order by key'), random), random),
  };
}

/**
 * What people type when they look for somebody: mostly the beginning of a family name, often the given name and some
 * letters more, sometimes only a given name, which thousands have.
 */
function makeTerms(names, random) {
  const terms = names.slice(0, 20_000).map((name) => {
    const [given, family] = name.split(' ').slice(-2);
    const kind = random();
    if (kind < 0.5) return family.slice(0, 4 + Math.floor(random() * (family.length - 3)));
    if (kind < 0.9) return `${given} ${family.slice(0, 2 + Math.floor(random() * (family.length - 1)))}`;
    return given;
  });
  return terms.filter((term) => term.length >= 3);
}

/** The variables of the questions, as JSON. */
export function variablesFor({ groups, terms }) {
  const ofGroup = (id) => JSON.stringify({ id });
  const ofTerm = (query) => JSON.stringify({ query });
  const spelled = spellings(groups, DIFFERENT).map(ofGroup);
  const paced = Math.floor(spelled.length * PACED);
  return {
    groups: groups.map(ofGroup),
    familiarGroups: groups.slice(0, FAMILIAR).map(ofGroup),
    differentGroups: spelled.slice(0, -2 * paced),
    pacedGroups: spelled.slice(-2 * paced, -paced),
    pacedGroupsForTwo: spelled.slice(-paced),
    terms: terms.map(ofTerm),
    differentTerms: spellings(terms, DIFFERENT).map(ofTerm),
    none: ['{}'],
  };
}

/**
 * So many different spellings of these: case does not matter to the service, and so none of the requests has been made
 * before, while what is asked for is the same.
 */
function spellings(words, count) {
  const found = new Set();
  for (let pattern = 1; found.size < count && pattern < 256; pattern++) {
    for (const word of words) found.add(respell(word, pattern));
  }
  return [...found].slice(0, count);
}

/** Letters whose bit is set in the pattern become capitals. */
function respell(word, pattern) {
  let letter = 0;
  return word.replace(/[a-z]/g, (small) => ((pattern >> letter++) & 1 ? small.toUpperCase() : small));
}
