// Keeps a service under load with a fault every minute: `npm run soak -- [--minutes 30]`. It fails if a fault has a lasting
// effect.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'endurance', '--', 'test/soak'];
const { status } = spawnSync(process.execPath, jest, {
  env: { ...process.env, SOAK_MINUTES: values.minutes, SOAK_FAULT_SECONDS: '60' },
  stdio: 'inherit',
});
process.exit(status ?? 1);
