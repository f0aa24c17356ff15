import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { variable } from '../servers/store.js';

/**
 * Writes a program of docs/clients.md to a file, beside the packages that it needs. Its first line has the name of the file.
 * @returns the path
 */
export function writeProgram(name: string): string {
  const programs = readFileSync('docs/clients.md', 'utf8').matchAll(
    /^```(?:js|bash)\n(?:\/\/|#) (\S+)\n([^]*?)^```$/gm,
  );
  const [, , program] = [...programs].find(([, file]) => file === name) ?? [];
  if (program === undefined) throw new Error(`docs/clients.md has no program ${name}`);
  const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'program-'));
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  const file = join(directory, name);
  writeFileSync(file, program);
  return file;
}
