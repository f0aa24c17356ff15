// Installs what the service is measured against, when it is not there in the versions of the lock file.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

function packagesIn(file) {
  try {
    const { packages } = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
    return Object.entries(packages).filter(([path]) => path !== '');
  } catch {
    return []; // Nothing has been installed yet.
  }
}

const installed = new Map(packagesIn('node_modules/.package-lock.json'));
const isThere = ([path, { version, optional }]) =>
  optional === true || installed.get(path)?.version === version;

if (!packagesIn('package-lock.json').every(isThere)) {
  console.log('Installing what the service is measured against: npm ci --prefix bench');
  const args = ['ci', '--prefix', 'bench', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', args, { stdio: 'inherit' });
  if (status !== 0) console.error('It could not be installed: the report will say who did not take part');
}
