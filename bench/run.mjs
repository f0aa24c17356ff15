// The benchmark: the service beside what else there is, in one run. `npm run bench`; never part of the tests.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { prepareCells } from './cells.mjs';
import { checkAnswers, checkNothingRemembered } from './checks.mjs';
import { ROOT } from './child.mjs';
import { chooseBestWay } from './measure/best-way.mjs';
import { memoryOf } from './measure/processor-time.mjs';
import { measureRounds } from './measure/rounds.mjs';
import { CONNECTIONS, readOptions } from './options.mjs';
import { profile } from './profile/profile.mjs';
import { readFacts } from './report/facts.mjs';
import { judge } from './report/goals.mjs';
import { CORES, describeMachine } from './report/machine.mjs';
import { writeFiles } from './report/write.mjs';
import { Interruption, withResources } from './resources.mjs';
import { buildStage } from './stage.mjs';

/** Says what is done, and how long it took. */
async function tell(what, work) {
  const begun = performance.now();
  const result = await work();
  console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(7)} s  ${what}`);
  return result;
}

async function compare(options, resources) {
  const stage = await buildStage(options, resources, tell);
  const { cluster, contenders, main, missing, slapd } = stage;
  await tell('everybody answers the same', () => checkAnswers(stage));
  const ways =
    slapd === null
      ? null
      : await tell('the best way to ask slapd', () =>
          chooseBestWay(slapd, main.subjects.groups, CONNECTIONS),
        );
  const cells = await prepareCells(stage, resources);
  const figures = await measureRounds(cells, options.pace, { cluster, cores: CORES, tell });
  checkNothingRemembered(figures);
  const memory = memoryOf(contenders.get('service').pids[0]);
  const facts = await readFacts(main.connection);
  const goals = judge({ figures, memory });
  await writeFiles(options, {
    figures,
    goals,
    memory,
    facts,
    ways,
    missing,
    machine: describeMachine(cluster.version),
  });
}

try {
  const options = readOptions(process.argv.slice(2));
  process.chdir(ROOT);
  mkdirSync(join(ROOT, options.out), { recursive: true });
  await withResources((resources) => (options.profile ? profile : compare)(options, resources, tell));
} catch (error) {
  console.error(error instanceof Interruption ? 'Interrupted' : error);
  process.exitCode = error instanceof Interruption ? 130 : 1;
}
// A signal may have come in the middle of something that goes on.
process.exit();
