// Asks a service for ten times what it can answer, for a minute: `npm run overload`, on a machine that does nothing else.
import { spawnSync } from 'node:child_process';

const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'postgres', '--', 'test/overload'];
const { status } = spawnSync(process.execPath, jest, {
  env: { ...process.env, OVERLOAD_ALONE: 'true' },
  stdio: 'inherit',
});
process.exit(status ?? 1);
