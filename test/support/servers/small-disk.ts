import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { giveToPostgres } from './postgres.mjs';

const BLOCK = Buffer.alloc(4096);

/** A file system of a few megabytes, for PostgreSQL to write to and for a test to fill. */
export class SmallDisk {
  private constructor(readonly directory: string) {}

  /**
   * Only root can: see canMount.
   * @param parent where it is mounted
   */
  static mount(parent: string, megabytes: number): SmallDisk {
    const directory = mkdtempSync(join(parent, 'disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], {
        stdio: 'pipe',
      });
    } catch (cause) {
      throw new Error(
        'A disk that is full takes a file system of its own: root must be let mount one (CAP_SYS_ADMIN)',
        { cause },
      );
    }
    giveToPostgres(directory);
    return new SmallDisk(directory);
  }

  /** To the last block. */
  fill(): void {
    const file = openSync(this.filler, 'w');
    try {
      for (;;) writeSync(file, BLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(this.filler, { force: true });
  }

  unmount(): void {
    // Whoever has a file open there keeps it, and nobody has to wait for them.
    execFileSync('umount', ['--lazy', this.directory]);
  }

  private get filler(): string {
    return join(this.directory, 'filler');
  }
}

export const canMount = process.getuid?.() === 0;
