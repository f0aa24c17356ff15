// Command line options.
import { parseArgs } from 'node:util';

const USAGE = `npm run bench -- [--quick] [--profile] [--out DIRECTORY]

  --quick    a small directory and short rounds, in about eight minutes
  --profile  no comparison: writes a .cpuprofile file of each server
  --out      directory of the report; default: bench, or .tmp/bench with --quick or --profile`;

/**
 * A round measures each scenario once, for `seconds`. A process is warm after some thousand responses: just-in-time compilation
 * makes half of its processor time before.
 */
export const FULL = { rounds: 5, seconds: 4, warmUp: { seconds: 2, responses: 4000 } };
const QUICK = { rounds: 3, seconds: 0.6, warmUp: { seconds: 0.4, responses: 600 } };

export const CONNECTIONS = 16;

/** @throws Error with the usage, for invalid options and for --help */
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
