// Installs the contenders' packages unless they are installed in the versions of the lock file.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

function packagesIn(file) {
  try {
    const { packages } = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
    return Object.entries(packages).filter(([path]) => path !== '');
  } catch {
    return []; // Not installed yet.
  }
}

const installed = new Map(packagesIn('node_modules/.package-lock.json'));
const isExpected = ([path, { version, optional }]) =>
  optional === true || installed.get(path)?.version === version;

if (!packagesIn('package-lock.json').every(isExpected)) {
  console.log('Installing the contenders: npm ci --prefix bench');
  const args = ['ci', '--prefix', 'bench', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', args, { stdio: 'inherit' });
  if (status !== 0) console.error('The installation failed: the report names the missing contenders');
}
