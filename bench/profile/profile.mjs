// Profiles the service and the other contenders, query by query.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../child.mjs';
import { prepareScenarios } from '../scenarios.mjs';
import { percent } from '../report/numbers.mjs';
import { buildStage } from '../stage.mjs';
import { summarizeProfile } from './summary.mjs';
import { writeProfiles } from './write-profiles.mjs';

/** Seconds. */
const WARM_UP = 3;
const SECONDS = 5;

const PRELOAD = ['--import', './bench/profile/profiler.mjs'];

export async function profile({ out }, resources, runStep) {
  const profiles = join(ROOT, out, 'profiles');
  mkdirSync(profiles, { recursive: true });
  const written = join(profiles, 'last.cpuprofile');
  process.env.PROFILE_FILE = written;
  const stage = await buildStage({ quick: true, preload: PRELOAD }, resources, runStep);
  const scenarios = await prepareScenarios(stage, resources);
  const sections = [];
  // The LDAP client is the load process itself.
  for (const scenario of scenarios.filter(({ contender }) => contender !== stage.slapd)) {
    await runStep(scenario.name, () => profileScenario(scenario, written));
    const file = join(profiles, `${scenario.name.replaceAll('/', '-')}.cpuprofile`);
    renameSync(written, file);
    const summary = summarizeProfile(JSON.parse(readFileSync(file, 'utf8')));
    print(summary);
    sections.push([scenario.name, summary]);
  }
  await writeProfiles(sections);
  console.log(`\n${profiles}`);
}

async function profileScenario({ contender, run }, written) {
  const [child] = contender.children;
  await run(WARM_UP);
  rmSync(written, { force: true });
  child.process.kill('SIGUSR2');
  await run(SECONDS);
  child.process.kill('SIGUSR2');
  while (!existsSync(written)) await sleep(50);
}

function print({ functions, packages }) {
  const line = ({ name, share }) => `    ${percent(share).padStart(5)}  ${name}`;
  console.log([...packages.slice(0, 12).map(line), '', ...functions.map(line), ''].join('\n'));
}
