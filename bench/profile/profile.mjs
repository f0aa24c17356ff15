// Instead of a comparison: where the processor time of the service and of its peers goes, question by question.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../child.mjs';
import { prepareCells } from '../cells.mjs';
import { percent } from '../report/numbers.mjs';
import { buildStage } from '../stage.mjs';
import { summarizeProfile } from './summary.mjs';

/** Seconds. */
const WARM_UP = 3;
const SECONDS = 5;

const PROFILED = ['service', 'hand-written', 'postgraphile'];

const PRELOAD = ['--import', './bench/profile/window.mjs'];

export async function profile({ out }, resources, tell) {
  const profiles = join(ROOT, out, 'profiles');
  mkdirSync(profiles, { recursive: true });
  const written = join(profiles, 'last.cpuprofile');
  process.env.PROFILE_FILE = written;
  const stage = await buildStage({ quick: true, preload: PRELOAD }, resources, tell);
  const cells = await prepareCells(stage, resources);
  for (const cell of cells.filter(({ contender }) => PROFILED.includes(contender.name))) {
    await tell(cell.name, () => profileCell(cell, written));
    const file = join(profiles, `${cell.name.replaceAll('/', '-')}.cpuprofile`);
    renameSync(written, file);
    show(summarizeProfile(JSON.parse(readFileSync(file, 'utf8'))));
  }
  console.log(`\n${profiles}`);
}

async function profileCell({ contender, run }, written) {
  const [child] = contender.children;
  await run(WARM_UP);
  rmSync(written, { force: true });
  child.process.kill('SIGUSR2');
  await run(SECONDS);
  child.process.kill('SIGUSR2');
  child.log = '';
  while (!child.log.includes('Profiled') || !existsSync(written)) await sleep(50);
}

function show({ functions, packages }) {
  const line = ({ name, share }) => `    ${percent(share).padStart(5)}  ${name}`;
  console.log([...packages.slice(0, 12).map(line), '', ...functions.map(line), ''].join('\n'));
}
