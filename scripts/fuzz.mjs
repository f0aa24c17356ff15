// Sends many random requests to a service: `npm run fuzz -- [SEED] [REQUESTS]`. The same seed reproduces a failure.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

const [seed = String(randomInt(2 ** 31)), requests = '200000'] = process.argv.slice(2);
console.log(`Seed ${seed}: «npm run fuzz -- ${seed} ${requests}» does the same again`);
const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'postgres', '--', 'test/faults/fuzz'];
const { status } = spawnSync(process.execPath, jest, {
  env: { ...process.env, FUZZ_SEED: seed, FUZZ_REQUESTS: requests },
  stdio: 'inherit',
});
process.exit(status ?? 1);
