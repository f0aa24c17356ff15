// The ids and search terms of the queries.
import { makeRandom, shuffle } from './random.mjs';

/** Number of groups, or of terms, in scenarios with repeated queries. */
const REPEATED = 200;
/** Maximal number of distinct requests, more than a contender receives. A small directory has fewer. */
const MAX_VARIANTS = 300_000;
/** Share of the distinct requests that is reserved for each paced scenario. */
const PACED_SHARE = 1 / 12;

/**
 * @param {import('pg').Client} connection
 * @returns ids of ordinary groups, of large groups, of users with more groups than a page shows, and search terms
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
 * Search terms: mostly the beginning of a family name, often the given name and some letters of the family name, sometimes only
 * a given name, which thousands of users share.
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

/** The variables of the queries, as JSON. */
export function variablesFor({ groups, terms }) {
  const ofGroup = (id) => JSON.stringify({ id });
  const ofTerm = (query) => JSON.stringify({ query });
  const variants = caseVariants(groups, MAX_VARIANTS).map(ofGroup);
  const paced = Math.floor(variants.length * PACED_SHARE);
  return {
    groups: groups.map(ofGroup),
    repeatedGroups: groups.slice(0, REPEATED).map(ofGroup),
    uncachedGroups: variants.slice(0, -2 * paced),
    pacedGroups: variants.slice(-2 * paced, -paced),
    pacedGroupsForTwo: variants.slice(-paced),
    terms: terms.map(ofTerm),
    repeatedTerms: terms.slice(0, REPEATED).map(ofTerm),
    none: ['{}'],
  };
}

/**
 * Returns `count` variants of the words in upper and lower case. The service ignores case, so that each request is new to its
 * response cache but has the same result.
 */
function caseVariants(words, count) {
  const found = new Set();
  for (let pattern = 1; found.size < count && pattern < 256; pattern++) {
    for (const word of words) found.add(toCaseVariant(word, pattern));
  }
  return [...found].slice(0, count);
}

/** Letters whose bit is set in the pattern become upper case. */
function toCaseVariant(word, pattern) {
  let letter = 0;
  return word.replace(/[a-z]/g, (small) => ((pattern >> letter++) & 1 ? small.toUpperCase() : small));
}
