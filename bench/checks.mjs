// Checks that all contenders return the same content, and that no response came from a cache where it must not.
import { isDeepStrictEqual } from 'node:util';

/** Number of groups, users and search terms that are compared. */
const SAMPLES = 20;

/** @throws Error if the responses of two contenders differ */
export async function checkResponses({ contenders, slapd, main, own }) {
  const reference = contenders.get('service');
  const others = [...contenders.values()].filter(
    ({ name }) => !['service', 'more-memberships', 'custom-fields', 'hidden-users'].includes(name),
  );
  const requests = [
    ...main.subjects.groups.slice(0, SAMPLES).map((id) => ['members', { id }]),
    ...main.subjects.groups.slice(0, SAMPLES).map((id) => ['largestPage', { id }]),
    ...main.subjects.terms.slice(0, SAMPLES).map((query) => ['search', { query }]),
    ...Array.from({ length: SAMPLES }, () => ['profile', {}]),
    ['build', {}],
  ];
  for (const [index, [queryName, variables]] of requests.entries()) {
    const { token } = main.people[index % main.people.length];
    const expected = await reference.execute(queryName, variables, token);
    for (const other of others) {
      if (!takesPart(other, queryName)) continue;
      compare(other.name, queryName, variables, await other.execute(queryName, variables, token), expected);
    }
    if (queryName === 'members' && slapd !== null) await checkSlapd(slapd, variables, expected);
  }
  await checkFields(contenders.get('custom-fields'), own);
}

/** The contents of these queries require a value of each field. */
async function checkFields(contender, { subjects, people }) {
  for (const id of subjects.groups.slice(0, SAMPLES)) {
    await contender.execute('ownMembers', { id }, people[0].token);
    await contender.execute('builtInMembers', { id }, people[0].token);
  }
}

/** Contenders on the read model have no search. */
function takesPart({ queries }, queryName) {
  return queries[queryName] !== undefined;
}

/** The LDAP client returns neither cursors nor signed URLs. */
async function checkSlapd(slapd, { id }, { name, totalCount, hasNextPage, members }) {
  const withoutPhotos = {
    name,
    totalCount,
    hasNextPage,
    members: members.map(([role, person, schoolYear]) => [role, person, schoolYear]),
  };
  for (const strategy of slapd.strategies) {
    compare(`slapd, ${strategy}`, 'members', { id }, await slapd.execute(strategy, id), withoutPhotos);
  }
}

function compare(name, queryName, variables, found, expected) {
  if (isDeepStrictEqual(found, expected)) return;
  throw new Error(
    `The response of ${name} to ${queryName} ${JSON.stringify(variables)} differs from that of the service:\n` +
      `${JSON.stringify(found)}\n${JSON.stringify(expected)}`,
  );
}

/** Scenarios whose requests must reach PostgreSQL. */
const UNCACHED_SCENARIOS = [
  'service/members',
  'service/largestPage',
  'log-off/members',
  'newer-node/members',
  'two-processes/members',
  'service/members/paced',
];
/** Scenarios of contenders without a response cache. */
const CACHE_OFF = /^(cache-off|plain|more-memberships|hidden-users|unmatched-rules|custom-fields)\//;
/** Maximal share of responses from the cache. */
const MAX_HITS = 0.02;
/** Minimal share of responses from the cache in scenarios that measure it. */
const MIN_HITS = 0.9;

/** @throws Error if responses came from a cache in scenarios that must not use it, or did not in those that measure it */
export function checkCacheHits(figures) {
  const problems = figures.names.flatMap((name) => {
    const { cacheHits } = figures.of(name);
    const share = `${(cacheHits * 100).toFixed(1)} % of the responses of ${name} were cached`;
    if ((UNCACHED_SCENARIOS.includes(name) || CACHE_OFF.test(name)) && cacheHits > MAX_HITS) return [share];
    return name.startsWith('service/') && name.endsWith('/cached') && cacheHits < MIN_HITS ? [share] : [];
  });
  if (problems.length > 0) throw new Error(problems.join('; '));
}
