// What can be said on the command line.
import { parseArgs } from 'node:util';

const USAGE = `npm run bench -- [--quick] [--profile] [--out DIRECTORY]

  --quick    a small directory and short rounds: whether everything works, in less than three minutes
  --profile  no comparison: where the processor time of each server goes, as .cpuprofile files
  --out      where the report goes; bench, and .tmp/bench for a quick run or profiles`;

/**
 * A round goes over everything once, so many seconds each. A process of the service is warm after some thousand answers: then
 * all that is compiled while it runs has been, which makes half of its first processor time.
 */
const FULL = { rounds: 5, seconds: 4, warmUp: { seconds: 2, answers: 4000 } };
const QUICK = { rounds: 3, seconds: 0.6, warmUp: { seconds: 0.4, answers: 600 } };

export const CONNECTIONS = 16;

/** @throws Error with the usage when it is used wrongly, or when that is what was asked for */
export function readOptions(args) {
  const options = {
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options }));
  } catch (error) {
    throw new Error(`${error.message}\n\n${USAGE}`, { cause: error });
  }
  if (values.help) throw new Error(USAGE);
  const { quick, profile } = values;
  return {
    quick,
    profile,
    out: values.out ?? (quick || profile ? '.tmp/bench' : 'bench'),
    pace: quick ? QUICK : FULL,
  };
}
