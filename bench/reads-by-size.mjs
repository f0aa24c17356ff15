// What Q1, a deep page and a search cost in a directory of some size, compared with 100,000 users in the same run.
import { contenderOf } from './contenders/service.mjs';
import { collectDeepCursors } from './deep-cursors.mjs';
import { LoadProcess } from './load/load-process.mjs';
import { measureRounds } from './measure/rounds.mjs';
import { CONNECTIONS, FULL } from './options.mjs';
import { QUERIES } from './queries.mjs';
import { CORES } from './report/machine.mjs';
import { withResources } from './resources.mjs';
import { PAGES } from './scenarios.mjs';
import { openDirectory, startCluster } from './stage.mjs';

const GENERATOR = new URL('load/generator.mjs', import.meta.url);
const REFERENCE = 100_000;
/** Users for each group, and members of an ordinary group: the large groups grow with the directory. */
const USERS_PER_GROUP = 20;
const MEMBERS = 100;
const TOKENS = 100;

const allTime = ({ server, postgres }) => server + postgres;

/**
 * @param people the number of users
 * @returns processor time of Q1 and of a deep page divided by that with 100,000 users, and the 99th percentile of a search in ms
 */
export function measureReads(people, runStep) {
  return withResources(async (resources) => {
    const context = { ...(await startCluster({}, resources, runStep)), cacheOff: true };
    const loadProcess = new LoadProcess(GENERATOR, resources);
    const scenarios = [];
    for (const [name, count] of [
      ['reference', REFERENCE],
      ['measured', people],
    ]) {
      const size = { people: count, groups: count / USERS_PER_GROUP, members: MEMBERS };
      scenarios.push(
        ...(await scenariosOf(name, await openDirectory(context, name, size, TOKENS), loadProcess)),
      );
    }
    const figures = await measureRounds(scenarios, FULL, { cluster: context.cluster, cores: CORES, runStep });
    return {
      members: figures.compare('measured/members', 'reference/members', allTime),
      deep: figures.compare('measured/deep', 'reference/deep', allTime),
      search: figures.of('measured/search').p99,
    };
  });
}

async function scenariosOf(name, { process, people, subjects, variables }, loadProcess) {
  const contender = contenderOf(name, [process]);
  const tokens = people.map(({ token }) => token);
  const cursors = await collectDeepCursors(contender, subjects.largeGroups, tokens[0]);
  const deep = cursors.map(({ id, after }) => JSON.stringify({ id, after }));
  const loads = {
    members: { ...QUERIES.members, variables: variables.groups },
    deep: { operationName: 'Large', query: PAGES.deep, variables: deep },
    search: { ...QUERIES.search, variables: variables.terms },
  };
  const scenarios = [];
  for (const [each, { operationName, query, variables: values }] of Object.entries(loads)) {
    const scenarioName = `${name}/${each}`;
    const load = { operationName, query, variables: values, ports: contender.ports, tokens };
    await loadProcess.prepare(scenarioName, load);
    scenarios.push({
      name: scenarioName,
      contender,
      countsLoadTime: false,
      run: (seconds) => loadProcess.run(scenarioName, { seconds, connections: CONNECTIONS, rate: null }),
    });
  }
  return scenarios;
}
