import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { giveToPostgres } from './postgres.mjs';

const BLOCK = Buffer.alloc(4096);

/** A file system of a few megabytes for PostgreSQL, which a test can fill. */
export class SmallDisk {
  private constructor(readonly directory: string) {}

  /**
   * Requires root: see canMount.
   * @param parent directory of the mount point
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

  /** Until no block is free. */
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
    // A lazy unmount: processes with open files keep them, and the unmount does not wait for them.
    execFileSync('umount', ['--lazy', this.directory]);
  }

  private get filler(): string {
    return join(this.directory, 'filler');
  }
}

export const canMount = process.getuid?.() === 0;
