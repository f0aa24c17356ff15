// Compares this build with that of an earlier checkout, in one run: `npm run bench:earlier -- CHECKOUT`.
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findFreePort } from '../test/support/servers/postgres.mjs';
import { ROOT } from './child.mjs';
import { contenderOf, startProcess } from './contenders/service.mjs';
import { SIZES } from './data/sizes.mjs';
import { LoadProcess } from './load/load-process.mjs';
import { measureRounds } from './measure/rounds.mjs';
import { FULL } from './options.mjs';
import { CORES } from './report/machine.mjs';
import { digits, table } from './report/numbers.mjs';
import { Interruption, withResources } from './resources.mjs';
import { runStep } from './run-step.mjs';
import { GENERATOR, PAGES, prepareScenario, variablesOfPages } from './scenarios.mjs';
import { openDirectory, startCluster } from './stage.mjs';

/** Label, query, variables, and whether the response cache is on. */
const SCENARIOS = [
  ['Q1, cache off', 'members', 'groups', false],
  ['Q1, uncached', 'members', 'uncachedGroups', true],
  ['Q1, cached', 'members', 'repeatedGroups', true],
  ['Q2, cache off', 'profile', 'none', false],
  ['Q2, cached', 'profile', 'none', true],
  ['Q3', 'build', 'none', true],
  ['Q4, uncached', 'largestPage', 'uncachedGroups', true],
  ['Q5, cache off', 'search', 'terms', false],
  ['Q5, cached', 'search', 'repeatedTerms', true],
];
/** A row is marked if its ratio of responses is below the first, and its ratio of processor time is above the second. */
const LOWEST_RATE = 0.95;
const HIGHEST_TIME = 1.05;

function programOf(checkout) {
  const program = ['dist/bundled/main.js', 'dist/main.js'].find((each) => existsSync(join(checkout, each)));
  if (program === undefined) throw new Error(`${checkout} is not compiled: npm ci && npm run compile`);
  return join(checkout, program);
}

/** Starts two processes of each build, with and without the response cache, on one database. @returns the figures */
async function compare(checkout, resources) {
  const earlier = programOf(checkout);
  const size = SIZES.full;
  const context = await startCluster({}, resources, runStep);
  const main = await openDirectory(context, 'directory', size.directory, size.tokens);
  const loadProcess = new LoadProcess(GENERATOR, resources);
  const scenarios = [];
  let pages;
  for (const [build, program] of [
    ['now', null],
    ['earlier', earlier],
  ]) {
    const start = async (cacheOff) => {
      const process = await startProcess(main.site, resources, {
        port: await findFreePort(),
        cacheOff,
        program,
      });
      return contenderOf(build, [process]);
    };
    const [cached, uncached] = [await start(false), await start(true)];
    pages ??= await variablesOfPages(uncached, main);
    const prepare = async (label, contender, load) =>
      scenarios.push(await prepareScenario(loadProcess, `${label}/${build}`, contender, load, main));
    for (const [label, queryName, variables, isCacheOn] of SCENARIOS) {
      const contender = isCacheOn ? cached : uncached;
      const { operationName, query } = contender.queries[queryName];
      await prepare(label, contender, { operationName, query, variables: main.variables[variables] });
    }
    for (const [page, query] of Object.entries(PAGES)) {
      const variables = pages[page] ?? pages.first;
      await prepare(labelOf(page), uncached, { operationName: 'Large', query, variables });
    }
  }
  const { cluster } = context;
  return measureRounds(scenarios, FULL, { cluster, cores: CORES, runStep });
}

const labelOf = (page) => `A page of a large group, ${page}`;

function report(figures) {
  const labels = [...SCENARIOS.map(([label]) => label), ...Object.keys(PAGES).map(labelOf)];
  const rows = labels.map((label) => {
    const ratio = (figure) => figures.compare(`${label}/now`, `${label}/earlier`, figure);
    const perSecond = ratio((sample) => sample.perSecond);
    const service = ratio((sample) => sample.server);
    const all = ratio((sample) => sample.server + sample.postgres);
    const isWorse = perSecond < LOWEST_RATE && all > HIGHEST_TIME;
    return [label, ...[perSecond, service, all].map(digits), isWorse ? '**slower**' : ''];
  });
  const head = ['', 'responses per second', 'processor time of the service', '… and PostgreSQL', ''];
  return `${table(head, rows)}\n`;
}

const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
if (positionals.length !== 1) throw new Error('npm run bench:earlier -- CHECKOUT [--out FILE]');
const checkout = resolve(positionals[0]);
process.chdir(ROOT);
try {
  const text = report(await withResources((resources) => compare(checkout, resources)));
  console.log(`\nThis build ÷ the earlier one, each the median of ratios within a round:\n\n${text}`);
  if (values.out !== undefined) writeFileSync(values.out, text);
} catch (error) {
  console.error(error instanceof Interruption ? 'Interrupted' : error);
  process.exitCode = error instanceof Interruption ? 130 : 1;
}
// The databases of the run are closed, and nothing else is waited for.
process.exit();
