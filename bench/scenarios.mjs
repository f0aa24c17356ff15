// The scenarios: a contender, a query and its variables. Each is measured in every round.
import { whileUsersChange } from './data/changing-users.mjs';
import { ORIGIN } from './contenders/service.mjs';
import { LoadProcess } from './load/load-process.mjs';
import { collectDeepCursors } from './deep-cursors.mjs';
import { CONNECTIONS } from './options.mjs';

export const GENERATOR = new URL('load/generator.mjs', import.meta.url);

/** Requests per second and process in paced scenarios, below the capacity of a process. */
const PACE = 500;
/** Requests per second of a school on a busy day. */
const REALISTIC_PACE = 50;

/** Contender, query, variables and mode. `uncached…` are variables in spellings that no earlier request contained. */
const SCENARIOS = [
  ['service', 'members', 'uncachedGroups'],
  ['service', 'members', 'repeatedGroups', 'cached'],
  ['cache-off', 'members', 'groups'],
  ['hand-written', 'members', 'groups'],
  ['hand-written-index-order', 'members', 'groups'],
  ['hand-written-read-model', 'members', 'groups'],
  ['postgraphile', 'members', 'groups'],
  ['postgraphile-read-model', 'members', 'groups'],
  ['cache-off', 'profile', 'none'],
  ['service', 'profile', 'none', 'cached'],
  ['hand-written', 'profile', 'none'],
  ['hand-written-read-model', 'profile', 'none'],
  ['postgraphile', 'profile', 'none'],
  ['postgraphile-read-model', 'profile', 'none'],
  ['service', 'build', 'none'],
  ['cache-off', 'build', 'none'],
  ['hand-written', 'build', 'none'],
  ['postgraphile', 'build', 'none'],
  ['service', 'largestPage', 'uncachedGroups'],
  ['hand-written', 'largestPage', 'groups'],
  ['hand-written-read-model', 'largestPage', 'groups'],
  ['postgraphile', 'largestPage', 'groups'],
  ['cache-off', 'search', 'terms'],
  ['service', 'search', 'repeatedTerms', 'cached'],
  ['hand-written', 'search', 'terms'],
  ['postgraphile', 'search', 'terms'],
  ['service', 'members', 'repeatedGroups', '10-changes'],
  ['service', 'members', 'repeatedGroups', '50-changes'],
  ['service', 'members', 'repeatedGroups', 'from-page'],
  ['log-off', 'members', 'uncachedGroups'],
  ['log-off', 'members', 'repeatedGroups', 'cached'],
  ['newer-node', 'members', 'uncachedGroups'],
  ['newer-node', 'members', 'repeatedGroups', 'cached'],
  ['cache-off', 'members', 'groups', 'realistic'],
  ['hand-written-index-order', 'members', 'groups', 'realistic'],
  ['plain', 'members', 'groups'],
  ['more-memberships', 'members', 'groups'],
  ['hidden-users', 'members', 'groups'],
  ['unmatched-rules', 'members', 'groups'],
  ['custom-fields', 'members', 'groups'],
  ['custom-fields', 'ownMembers', 'groups'],
  ['custom-fields', 'builtInMembers', 'groups'],
  ['two-processes', 'members', 'uncachedGroups'],
  ['service', 'members', 'pacedGroups', 'paced'],
  ['service', 'members', 'pacedGroupsForTwo', 'paced-for-two'],
  ['two-processes', 'members', 'pacedGroups', 'paced'],
];

const LARGE = (args, total) => `query Large($id: String!, $after: String) {
  group(group: {id: $id}) {
    members(${args}) { ${total} pageInfo { hasNextPage } nodes { role { value } user { name schoolYear photo } } }
  }
}`;

/** Pages of the largest groups: the first, one near the end, the last, and one without the total. */
export const PAGES = {
  first: LARGE('first: 50, after: $after', 'totalCount'),
  deep: LARGE('first: 50, after: $after', 'totalCount'),
  last: LARGE('last: 50, after: $after', 'totalCount'),
  uncounted: LARGE('first: 50, after: $after', ''),
};

/** Sends the requests of all scenarios to the load process. @returns the scenarios */
export async function prepareScenarios(stage, resources) {
  const loadProcess = new LoadProcess(GENERATOR, resources);
  const scenarios = [];
  for (const [name, queryName, variables, mode] of SCENARIOS) {
    const contender = stage.contenders.get(name);
    if (contender === undefined) continue;
    const directory = directoryOf(name, stage);
    const origin = mode === 'from-page' ? ORIGIN : undefined;
    const { operationName, query } = contender.queries[queryName];
    const load = { operationName, query, variables: directory.variables[variables], origin };
    const scenarioName = [name, queryName, mode].filter(Boolean).join('/');
    const rate = rateOf(mode, contender);
    const scenario = await prepareScenario(loadProcess, scenarioName, contender, load, directory, rate);
    scenarios.push(
      mode?.endsWith('-changes') ? duringChanges(scenario, directory, parseInt(mode)) : scenario,
    );
  }
  const cacheOff = stage.contenders.get('cache-off');
  const variables = await variablesOfPages(cacheOff, stage.main);
  for (const [page, query] of Object.entries(PAGES)) {
    const load = { operationName: 'Large', query, variables: variables[page] ?? variables.first };
    scenarios.push(await prepareScenario(loadProcess, `cache-off/${page}`, cacheOff, load, stage.main));
  }
  if (stage.slapd !== null) scenarios.push(slapdScenario(stage.slapd));
  return scenarios;
}

function directoryOf(contender, { main, more, own, hidden }) {
  if (contender === 'more-memberships') return more;
  if (contender === 'hidden-users') return hidden;
  return contender === 'custom-fields' ? own : main;
}

/** Requests per second; null: unlimited. */
function rateOf(mode, { ports }) {
  if (mode === 'realistic') return REALISTIC_PACE;
  if (mode === 'paced') return PACE * ports.length;
  return mode === 'paced-for-two' ? PACE * 2 : null;
}

/** @param rate requests per second; null: unlimited */
export async function prepareScenario(loadProcess, name, contender, load, { people }, rate = null) {
  const tokens = people.map(({ token }) => token);
  await loadProcess.prepare(name, { ...load, ports: contender.ports, tokens });
  return {
    name,
    contender,
    countsLoadTime: false,
    run: (seconds) => loadProcess.run(name, { seconds, connections: CONNECTIONS, rate }),
  };
}

/** The scenario while users of other groups change, this many a second. The process learns of them, but does not apply them. */
function duringChanges(scenario, { connection, variables }, rate) {
  const groups = variables.repeatedGroups.map((each) => JSON.parse(each).id);
  return {
    ...scenario,
    run: (seconds) => whileUsersChange(connection, { groups, rate }, () => scenario.run(seconds)),
  };
}

/** @param contender whose cursors all processes of the directory accept */
export async function variablesOfPages(contender, { subjects, people }) {
  const groups = subjects.largeGroups;
  const cursors = await collectDeepCursors(contender, groups, people[0].token);
  return {
    first: groups.map((id) => JSON.stringify({ id, after: null })),
    deep: cursors.map(({ id, after }) => JSON.stringify({ id, after })),
  };
}

/** The processor time of the LDAP client counts, because the client does the work of the service. */
function slapdScenario(slapd) {
  return {
    name: 'slapd/members',
    contender: slapd,
    countsLoadTime: true,
    run: (seconds) => slapd.client.run(slapd.strategy, { seconds, connections: CONNECTIONS }),
  };
}
