import { execFileSync } from 'node:child_process';

/** A backup of a database, as pg_dump makes one. */
export function dump(url: string): Buffer {
  return execFileSync('pg_dump', ['--format=custom', url], { maxBuffer: 100_000_000 });
}

/** Loads a backup back in place: whoever is connected stays connected. */
export function restore(url: string, backup: Buffer): void {
  execFileSync(
    'pg_restore',
    ['--clean', '--if-exists', '--single-transaction', '--exit-on-error', `--dbname=${url}`],
    { input: backup },
  );
}
