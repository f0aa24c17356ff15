// The benchmark: compares the service with alternatives in one run (`npm run bench`). It is not part of the tests.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepareScenarios } from './scenarios.mjs';
import { checkResponses, checkCacheHits } from './checks.mjs';
import { ROOT } from './child.mjs';
import { chooseFastestStrategy } from './measure/fastest-strategy.mjs';
import { memoryOf } from './measure/processor-time.mjs';
import { measureFullMinute } from './measure/full-minute.mjs';
import { measureRounds } from './measure/rounds.mjs';
import { CONNECTIONS, readOptions } from './options.mjs';
import { profile } from './profile/profile.mjs';
import { readDirectorySize } from './report/directory-size.mjs';
import { evaluateGoals } from './report/goals.mjs';
import { CORES, describeMachine } from './report/machine.mjs';
import { writeFiles } from './report/write.mjs';
import { Interruption, withResources } from './resources.mjs';
import { runStep } from './run-step.mjs';
import { buildStage } from './stage.mjs';
import { measureUnderLoad } from './under-load/measure.mjs';

async function compare(options, resources) {
  const stage = await buildStage(options, resources, runStep);
  const { cluster, contenders, main, missing, slapd } = stage;
  await runStep('compare the responses', () => checkResponses(stage));
  const strategies =
    slapd === null
      ? null
      : await runStep('select the fastest LDAP client', () =>
          chooseFastestStrategy(slapd, main.subjects.groups, CONNECTIONS),
        );
  const scenarios = await prepareScenarios(stage, resources);
  const figures = await measureRounds(scenarios, options.pace, { cluster, cores: CORES, runStep });
  const cached = scenarios.find(({ name }) => name === 'service/members/cached');
  return {
    figures,
    fullMinute: await runStep('cached responses at a full minute', () => measureFullMinute(cached)),
    memory: memoryOf(contenders.get('service').pids[0]),
    directorySize: await readDirectorySize(main.connection),
    strategies,
    missing,
    machine: describeMachine(cluster.version),
  };
}

/** The contenders have ended when the service is measured while its directory changes. */
async function measureAll(options) {
  const compared = await withResources((resources) => compare(options, resources));
  const underLoad = await measureUnderLoad(options, runStep);
  const results = { ...compared, underLoad };
  await writeFiles(options, { ...results, goals: evaluateGoals(results) });
  // Last, so that the samples can be examined.
  checkCacheHits(compared.figures);
}

try {
  const options = readOptions(process.argv.slice(2));
  process.chdir(ROOT);
  mkdirSync(join(ROOT, options.out), { recursive: true });
  if (options.profile) await withResources((resources) => profile(options, resources, runStep));
  else await measureAll(options);
} catch (error) {
  console.error(error instanceof Interruption ? 'Interrupted' : error);
  process.exitCode = error instanceof Interruption ? 130 : 1;
}
// After a signal, interrupted work may keep the process alive.
process.exit();
