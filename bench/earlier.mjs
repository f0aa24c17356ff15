// Compares this build with an earlier one in one run, each with the sample directory and an embedded database of its own:
// npm run bench:earlier -- DIRECTORY [--command COMMAND] [--environment NAME=VALUE]... [--rounds 5] [--seconds 4]
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { LoadProcess } from './load-process.mjs';
import { makeWorkDirectory, ROOT, runCommand, runStep } from './processes.mjs';
import { QUERIES } from './queries.mjs';
import { digits, goalTable, table, writeSection } from './report.mjs';
import { FULL, measureRounds, readOptions } from './rounds.mjs';
import { execute, Issuer, Service } from './service.mjs';

/** Label, query, whether the response cache is on, and the least share of the responses of the earlier build. */
const COMPARED = [
  ['Q1, uncached', 'members', false, 0.8],
  ['Q1, cached', 'members', true, 0.5],
  ['Q2, uncached', 'profile', false, 0.75],
  ['Q3', 'build', true, 0.5],
  ['Q4, uncached', 'largestPage', false, 0.75],
  ['Q5, uncached', 'search', false, 0.9],
];
/** Responses of each query that must be equal. */
const SAMPLES = 10;

const { values, positionals } = readOptions({
  command: { type: 'string' },
  environment: { type: 'string', multiple: true, default: [] },
  rounds: { type: 'string', default: String(FULL.rounds) },
  seconds: { type: 'string', default: String(FULL.seconds) },
});
const USAGE =
  'npm run bench:earlier -- DIRECTORY [--command COMMAND] [--environment NAME=VALUE]…: a compiled checkout of an earlier version';

function earlierBuild() {
  const [given] = positionals;
  if (given === undefined) throw new Error(USAGE);
  // npm runs scripts in the directory of the package, and says where it was called.
  const directory = resolve(process.env.INIT_CWD ?? '.', given);
  if (!existsSync(join(directory, 'package.json'))) throw new Error(`${directory} is no checkout. ${USAGE}`);
  const environment = Object.fromEntries(
    values.environment.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  );
  const command = values.command === undefined ? {} : { command: values.command };
  return { name: 'earlier', environment, build: { directory, ...command } };
}

/** Two processes of a build, with and without the response cache. Each has a database of its own, which can be of one process only. */
async function startBuild({ name, environment, build }, issuer, work, resources) {
  const start = (cache, more = {}) =>
    Service.start(
      resources,
      {
        ...issuer.settings,
        DATABASE_URL: `embedded:${join(work, `${name}-${cache}`)}`,
        ...more,
        ...environment,
      },
      build,
    );
  return {
    name,
    cached: await start('cached'),
    uncached: await start('uncached', { RESPONSE_CACHE_MEGABYTES: '0' }),
  };
}

/** The variables of the queries, from the directory itself, and tokens of users. */
async function chooseSubjects({ uncached }, issuer) {
  const token = await issuer.tokenOf('ada.martin');
  const { groups, users } = await uncached.execute(
    '{ groups(first: 100, orderBy: {field: MEMBER_COUNT, direction: DESC}) { nodes { id } } users(first: 100) { nodes { id familyName } } }',
    token,
  );
  const terms = users.nodes.flatMap(({ familyName }) => (familyName ?? '').toLowerCase().slice(0, 4) || []);
  const members = groups.nodes.map(({ id }) => ({ id }));
  return {
    tokens: await issuer.tokensOf(users.nodes.map(({ id }) => id)),
    variables: {
      ...{ members, largestPage: members, profile: [{}], build: [{}] },
      search: terms.filter((term) => term.length >= 3).map((query) => ({ query })),
    },
  };
}

/** Warns if the builds do not have the same directory, or order it differently. */
async function compareResponses(builds, { tokens, variables }) {
  for (const [label, name] of COMPARED) {
    const { query, contentOf } = QUERIES[name];
    const asked = variables[name].slice(0, SAMPLES);
    const ask = async ({ uncached }) => {
      const contents = [];
      for (const each of asked)
        contents.push(contentOf(await execute(uncached.port, { query, variables: each }, tokens[0])));
      return contents;
    };
    if (!isDeepStrictEqual(await ask(builds[0]), await ask(builds[1])))
      console.warn(`The builds answer some of ${label} differently: their times are of different work`);
  }
}

await runCommand(async (resources) => {
  const earlier = earlierBuild();
  const work = makeWorkDirectory(resources);
  const issuer = await Issuer.start(resources);
  const load = new LoadProcess(resources);
  const builds = [];
  for (const each of [{ name: 'now', environment: {}, build: { directory: ROOT } }, earlier])
    builds.push(await runStep(`${each.name} starts`, () => startBuild(each, issuer, work, resources)));
  const subjects = await chooseSubjects(builds[0], issuer);
  await compareResponses(builds, subjects);

  const scenarios = [];
  for (const [label, name, isCached] of COMPARED) {
    for (const build of builds) {
      const scenario = `${label}/${build.name}`;
      const { port, pids } = isCached ? build.cached : build.uncached;
      const variables = subjects.variables[name].map((each) => JSON.stringify(each));
      await load.prepare(scenario, { port, query: QUERIES[name].query, variables, tokens: subjects.tokens });
      scenarios.push({ name: scenario, pids, run: (seconds) => load.run(scenario, { seconds }) });
    }
  }
  const pace = { ...FULL, rounds: Number(values.rounds), seconds: Number(values.seconds) };
  const figures = await measureRounds(scenarios, pace);
  const ratios = COMPARED.map(([label, , , atLeast]) => [
    label,
    atLeast,
    null,
    figures.compare(`${label}/now`, `${label}/earlier`),
  ]);
  const rates = COMPARED.map(([label]) => [
    label,
    ...['now', 'earlier'].map((build) => digits(figures.of(`${label}/${build}`).perSecond)),
  ]);
  await writeSection({
    title: 'This build and an earlier one',
    parts: [
      `\`npm run bench:earlier\`: the sample directory, ${pace.rounds} rounds of ${pace.seconds} seconds with 16 connections. Each ratio is of responses a second, this build ÷ the earlier one.`,
      goalTable(ratios),
      table(['responses a second', 'this build', 'the earlier one'], rates),
    ],
    isUsual: false,
  });
});
