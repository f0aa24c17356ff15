// The first step of the tests: finds the system packages that they need beyond npm, or installs them.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the tests start, the Debian package that it comes in, and how to see whether it is there. */
const NEEDED = [
  { name: 'PostgreSQL', package: 'postgresql', isThere: () => findPostgres() !== null },
  // Its package starts a service on an ordinary machine, which nothing here uses.
  { name: 'slapd', package: 'slapd', isThere: () => findProgram('slapd') !== null },
  { name: 'ldapmodify', package: 'ldap-utils', isThere: () => findProgram('ldapmodify') !== null },
  // The packages of these three start services as well.
  { name: 'Redis', package: 'redis-server', isThere: () => findProgram('redis-server') !== null },
  { name: 'nginx', package: 'nginx', isThere: () => findProgram('nginx') !== null },
  { name: 'haproxy', package: 'haproxy', isThere: () => findProgram('haproxy') !== null },
  // The package of this one as well.
  { name: 'PgBouncer', package: 'pgbouncer', isThere: () => findProgram('pgbouncer') !== null },
  { name: 'libfaketime', package: 'faketime', isThere: () => findFaketime() !== null },
  { name: 'Chromium', package: 'chromium', isThere: () => findProgram('chromium') !== null },
  {
    name: 'bash-completion',
    package: 'bash-completion',
    isThere: () => existsSync('/usr/share/bash-completion/bash_completion'),
  },
  { name: 'OpenSSL', package: 'openssl', isThere: () => findProgram('openssl') !== null },
];

/** Where a program is; null when it is not installed. Servers are not on everybody's PATH. */
export function findProgram(name) {
  const directories = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/sbin', '/usr/bin'];
  return directories.map((directory) => join(directory, name)).find(existsSync) ?? null;
}

/** The library that gives a process a clock of its own; null when it is not installed. Debian has it in a directory of each kind of machine. */
export function findFaketime() {
  const root = '/usr/lib';
  const found = readdirSync(root).map((name) => join(root, name, 'faketime', 'libfaketimeMT.so.1'));
  return found.find(existsSync) ?? null;
}

/** Directory of PostgreSQL's programs, newest first; null when there is none. */
export function findPostgres() {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return null;
  const versions = readdirSync(root).sort((left, right) => Number(right) - Number(left));
  const found = versions.find((version) => existsSync(`${root}/${version}/bin/initdb`));
  return found === undefined ? null : `${root}/${found}/bin`;
}

function run(command, ...args) {
  return spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status;
}

function installWith(...prefix) {
  const [command, ...rest] = [...prefix, 'apt-get'];
  return (packages) =>
    run(command, ...rest, 'update') === 0 &&
    run(command, ...rest, 'install', '-y', '--no-install-recommends', ...packages) === 0;
}

function chooseInstaller() {
  if (!existsSync('/usr/bin/apt-get')) return null;
  if (process.getuid?.() === 0) return installWith();
  const sudo = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' });
  return sudo.status === 0 ? installWith('sudo', '-n') : null;
}

function ensurePackages() {
  const missing = NEEDED.filter(({ isThere }) => !isThere());
  if (missing.length === 0) return;
  const packages = missing.map((each) => each.package);
  const names = missing.map(({ name }) => name).join(', ');
  const command = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const install = chooseInstaller();
  if (install === null) {
    console.error(`The tests need ${names}. Install it as root, and run them again:\n  ${command}`);
    process.exit(1);
  }
  console.log(`The tests need ${names}: installing with ${command}`);
  if (!install(packages) || missing.some(({ isThere }) => !isThere())) {
    console.error(`The installation failed. Install it as root, and run the tests again:\n  ${command}`);
    process.exit(1);
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) ensurePackages();
