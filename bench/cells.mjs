// What is measured: who is asked what, with which variables. Each is a cell of every round.
import { Loader } from './load/loader.mjs';
import { collectDeepCursors } from './deep-cursors.mjs';
import { CONNECTIONS } from './options.mjs';

const GENERATOR = new URL('load/generator.mjs', import.meta.url);

/** Requests a second that each process is sent where they are paced: a part of what it can answer. */
const PACE = 500;

/** Everybody's questions: the contender, the question, the variables. What nobody has asked before is spelled anew. */
const ASKED = [
  ['service', 'members', 'differentGroups'],
  ['service', 'members', 'familiarGroups', 'again'],
  ['forgetful', 'members', 'groups'],
  ['hand-written', 'members', 'groups'],
  ['hand-written-alike', 'members', 'groups'],
  ['postgraphile', 'members', 'groups'],
  ['postgraphile-alike', 'members', 'groups'],
  ['forgetful', 'profile', 'none'],
  ['service', 'profile', 'none', 'again'],
  ['hand-written', 'profile', 'none'],
  ['hand-written-alike', 'profile', 'none'],
  ['postgraphile', 'profile', 'none'],
  ['postgraphile-alike', 'profile', 'none'],
  ['service', 'build', 'none'],
  ['forgetful', 'build', 'none'],
  ['hand-written', 'build', 'none'],
  ['postgraphile', 'build', 'none'],
  ['service', 'largestPage', 'differentGroups'],
  ['hand-written', 'largestPage', 'groups'],
  ['hand-written-alike', 'largestPage', 'groups'],
  ['postgraphile', 'largestPage', 'groups'],
  ['service', 'search', 'differentTerms'],
  ['service', 'search', 'terms', 'again'],
  ['hand-written', 'search', 'terms'],
  ['postgraphile', 'search', 'terms'],
  ['more', 'members', 'groups'],
  ['twice', 'members', 'differentGroups'],
  ['service', 'members', 'pacedGroups', 'paced'],
  ['service', 'members', 'pacedGroupsForTwo', 'paced-for-two'],
  ['twice', 'members', 'pacedGroups', 'paced'],
];

const LARGE = (args, total) => `query Large($id: String!, $after: String) {
  group(group: {id: $id}) {
    members(${args}) { ${total} pageInfo { hasNextPage } nodes { role { value } user { name schoolYear photo } } }
  }
}`;

/** What pages of the largest groups cost: the first, one far from the beginning, the last, one without the total. */
const PAGES = {
  first: LARGE('first: 50, after: $after', 'totalCount'),
  deep: LARGE('first: 50, after: $after', 'totalCount'),
  last: LARGE('last: 50, after: $after', 'totalCount'),
  uncounted: LARGE('first: 50, after: $after', ''),
};

/** @returns the cells, with everything sent to who makes the load that it needs */
export async function prepareCells(stage, resources) {
  const loader = new Loader(GENERATOR, resources);
  const cells = [];
  for (const [name, question, variables, mode] of ASKED) {
    const contender = stage.contenders.get(name);
    if (contender === undefined) continue;
    const directory = name === 'more' ? stage.more : stage.main;
    const load = { ...contender.questions[question], variables: directory.variables[variables] };
    const cellName = [name, question, mode].filter(Boolean).join('/');
    const rate = rateOf(mode, contender);
    cells.push(await prepareCell(loader, cellName, contender, load, directory, rate));
  }
  const forgetful = stage.contenders.get('forgetful');
  const variables = await variablesOfPages(stage);
  for (const [page, query] of Object.entries(PAGES)) {
    const load = { operationName: 'Large', query, variables: variables[page] ?? variables.first };
    cells.push(await prepareCell(loader, `forgetful/${page}`, forgetful, load, stage.main));
  }
  if (stage.slapd !== null) cells.push(slapdCell(stage.slapd));
  return cells;
}

/** Requests a second; null: as many as are answered. */
function rateOf(mode, { ports }) {
  if (mode === 'paced') return PACE * ports.length;
  return mode === 'paced-for-two' ? PACE * 2 : null;
}

/** @param rate requests a second; null: as many as are answered */
async function prepareCell(loader, name, contender, load, { people }, rate = null) {
  const { operationName, query, variables } = load;
  const tokens = people.map(({ token }) => token);
  await loader.prepare(name, { ports: contender.ports, operationName, query, variables, tokens });
  return {
    name,
    contender,
    loaderCounts: false,
    run: (seconds) => loader.run(name, { seconds, connections: CONNECTIONS, rate }),
  };
}

async function variablesOfPages({ contenders, main }) {
  const groups = main.subjects.largeGroups;
  const cursors = await collectDeepCursors(contenders.get('forgetful'), groups, main.people[0].token);
  return {
    first: groups.map((id) => JSON.stringify({ id, after: null })),
    deep: cursors.map(({ id, after }) => JSON.stringify({ id, after })),
  };
}

/** The client's own time counts: it is what the service does for everybody else. */
function slapdCell(slapd) {
  return {
    name: 'slapd/members',
    contender: slapd,
    loaderCounts: true,
    run: (seconds) => slapd.client.run(slapd.way, { seconds, connections: CONNECTIONS }),
  };
}
