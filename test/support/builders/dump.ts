import { execFileSync } from 'node:child_process';

/** Markers in the script of pg_restore: the first table, and the content of the table of users. */
const FIRST_TABLE = '\nCREATE ';
const USERS = '\n-- Data for Name: users;';

/** Creates a backup of a database with pg_dump. */
export function dump(url: string): Buffer {
  return execFileSync('pg_dump', ['--format=custom', url], { maxBuffer: 100_000_000 });
}

/** Restores a backup in place; clients stay connected. */
export function restore(url: string, backup: Buffer): void {
  execFileSync(
    'pg_restore',
    ['--clean', '--if-exists', '--single-transaction', '--exit-on-error', `--dbname=${url}`],
    { input: backup },
  );
}

/** Restores a backup in place without a transaction, so that other sessions see each step. */
export class SteppedRestore {
  private constructor(
    private readonly url: string,
    /** The settings at the beginning of the script. */
    private readonly settings: string,
    private readonly parts: readonly [dropping: string, filling: string, rest: string],
  ) {}

  static of(url: string, backup: Buffer): SteppedRestore {
    const output = execFileSync('pg_restore', ['--clean', '--if-exists', '--file=-'], {
      input: backup,
      maxBuffer: 100_000_000,
    });
    // Newer releases enclose the script in psql commands.
    const script = output.toString().replace(/^\\(un)?restrict .*$/gm, '');
    const created = script.indexOf(FIRST_TABLE);
    const users = script.indexOf(USERS);
    const settings = script.slice(0, script.search(/\n(ALTER|DROP) /));
    return new SteppedRestore(url, settings, [
      script.slice(0, created),
      script.slice(created, users),
      script.slice(users),
    ]);
  }

  /** Drops all tables. */
  drop(): void {
    this.run(this.parts[0]);
  }

  /** Creates the tables and fills them up to the table of users. */
  fillInPart(): void {
    this.run(this.parts[1]);
  }

  /** Fills the other tables, and creates keys, indexes and constraints. */
  complete(): void {
    this.run(this.parts[2]);
  }

  private run(script: string): void {
    execFileSync('psql', ['--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', this.url], {
      input: `${this.settings}\n${script}`,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  }
}
