// The first step of the tests: finds or installs the system packages that they need beyond npm. With the argument `servers`,
// those of `npm run test:servers`.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The programs of `npm test`, their Debian packages, and how to detect them. On an ordinary machine, some packages start
 * services, which no test uses. `services` are those that are stopped again: they listen on port 389 of all addresses, or could,
 * and Samba of the tests needs that port on an address of its own.
 */
const NEEDED = [
  { name: 'slapd', package: 'slapd', isThere: () => findProgram('slapd') !== null, services: ['slapd'] },
  { name: 'ldapmodify', package: 'ldap-utils', isThere: () => findProgram('ldapmodify') !== null },
  { name: 'Redis', package: 'redis-server', isThere: () => findProgram('redis-server') !== null },
  { name: 'nginx', package: 'nginx', isThere: () => findProgram('nginx') !== null },
  { name: 'Chromium', package: 'chromium', isThere: () => findProgram('chromium') !== null },
  { name: 'curl', package: 'curl', isThere: () => findProgram('curl') !== null },
  { name: 'jq', package: 'jq', isThere: () => findProgram('jq') !== null },
  { name: 'OpenSSL', package: 'openssl', isThere: () => findProgram('openssl') !== null },
];

/** Those that `npm run test:servers` needs besides. */
const NEEDED_BY_SERVERS = [
  { name: 'haproxy', package: 'haproxy', isThere: () => findProgram('haproxy') !== null },
  { name: 'PgBouncer', package: 'pgbouncer', isThere: () => findProgram('pgbouncer') !== null },
  { name: 'libfaketime', package: 'faketime', isThere: () => findFaketime() !== null },
  {
    name: 'Samba',
    package: 'samba-ad-dc',
    isThere: () => findProgram('samba') !== null,
    services: ['samba-ad-dc', 'smbd', 'nmbd', 'winbind'],
  },
  {
    name: "Samba's schema of Active Directory",
    package: 'samba-ad-provision',
    isThere: () => existsSync('/usr/share/samba/setup/provision.ldif'),
  },
  { name: '389 Directory Server', package: '389-ds-base', isThere: () => findProgram('ns-slapd') !== null },
  {
    name: 'promtool',
    package: 'prometheus',
    isThere: () => findProgram('promtool') !== null,
    services: ['prometheus'],
  },
];

/** The Node.js of the image (Dockerfile), from npm: the tests run with an older one. */
export const NEWER_NODE = `.tmp/node-24/node_modules/node-linux-${process.arch}/bin/node`;

/** Returns the path of a program, or null if it is not installed. Servers are not on the PATH of all users. */
export function findProgram(name) {
  const directories = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/sbin', '/usr/bin'];
  return directories.map((directory) => join(directory, name)).find(existsSync) ?? null;
}

/** Returns the path of a program. Throws an error if it is not installed. */
export function requireProgram(name) {
  const found = findProgram(name);
  if (found === null) throw new Error(`${name} is not installed: the tests install it first`);
  return found;
}

/**
 * Returns the path of the library that gives a process another clock, or null if it is not installed. Debian installs it in a
 * directory per architecture.
 */
export function findFaketime() {
  const root = '/usr/lib';
  const found = readdirSync(root).map((name) => join(root, name, 'faketime', 'libfaketimeMT.so.1'));
  return found.find(existsSync) ?? null;
}

function run(command, ...args) {
  return spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status;
}

function installWith(...prefix) {
  const runAsRoot = (...words) => run(...prefix, ...words) === 0;
  return (missing) => {
    const packages = missing.map((each) => each.package);
    const isInstalled =
      runAsRoot('apt-get', 'update') &&
      runAsRoot('apt-get', 'install', '-y', '--no-install-recommends', ...packages);
    for (const service of missing.flatMap(({ services = [] }) => services)) stopService(runAsRoot, service);
    return isInstalled;
  };
}

/** Stops a service that a package has just started, also for later starts of the machine. */
function stopService(runAsRoot, service) {
  if (existsSync('/run/systemd/system')) runAsRoot('systemctl', 'disable', '--now', service);
  else if (existsSync(`/etc/init.d/${service}`)) runAsRoot('service', service, 'stop');
}

function chooseInstaller() {
  if (!existsSync('/usr/bin/apt-get')) return null;
  if (process.getuid?.() === 0) return installWith();
  const sudo = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' });
  return sudo.status === 0 ? installWith('sudo', '-n') : null;
}

function ensurePackages(isForServers) {
  const needed = isForServers ? [...NEEDED, ...NEEDED_BY_SERVERS] : NEEDED;
  const missing = needed.filter(({ isThere }) => !isThere());
  if (missing.length === 0) return;
  const packages = missing.map((each) => each.package);
  const names = missing.map(({ name }) => name).join(', ');
  const command = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const install = chooseInstaller();
  const explain = (what) =>
    endWith(`${what} Install them as root, and run the tests again:\n  ${command}`, isForServers);
  if (install === null) return explain(`The tests need ${names}.`);
  console.log(`The tests need ${names}: installing with ${command}`);
  if (!install(missing) || missing.some(({ isThere }) => !isThere())) explain('The installation failed.');
}

/** Fails, after the tests that need none of the programs. */
function endWith(message, isForServers) {
  if (!isForServers) {
    run('npm', 'run', 'build');
    run(process.execPath, 'node_modules/jest/bin/jest.js', '--selectProjects', 'unit');
  }
  console.error(message);
  process.exit(1);
}

function ensureNewerNode() {
  if (existsSync(NEWER_NODE)) return;
  const options = ['--prefix', '.tmp/node-24', '--no-package-lock', '--no-audit', '--no-fund'];
  if (run('npm', 'install', ...options, `node-linux-${process.arch}@24`) !== 0)
    endWith('The tests need Node.js 24, which npm did not install.', true);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const isForServers = process.argv[2] === 'servers';
  ensurePackages(isForServers);
  if (isForServers) ensureNewerNode();
}
