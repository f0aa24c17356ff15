import { copyFileSync, mkdtempSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { variable } from '../servers/store.js';

/**
 * Copies a program of examples/programs/, as its reader does, beside the packages that it needs.
 * @returns the path
 */
export function writeProgram(name: string): string {
  const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'program-'));
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  const file = join(directory, name);
  copyFileSync(join('examples/programs', name), file);
  return file;
}
