import { existsSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Paths of default settings: files of the working directory, or else of this package, which has the database. */
export const SAMPLE_DIRECTORY = 'sample/directory.ldif';
export const SAMPLE_CLIENTS = 'sample/clients.json';
export const DEFAULT_DATABASE = '.data';

/** Whether npm has installed this package. Its directory then belongs to npm, which replaces it. */
const IS_INSTALLED = packaged('').includes(`${sep}node_modules${sep}`);
/** The directory of the settings and the database: that of a checkout, or else the working directory. */
export const HOME = IS_INSTALLED ? resolve() : packaged('');
/** The command line, as the operator calls it. Where the package is not installed, npx would run another one of that name. */
const INSTALLED_PROGRAM = existsSync('node_modules/.bin/directory') ? 'npx directory' : 'directory';
export const PROGRAM = IS_INSTALLED ? INSTALLED_PROGRAM : './directory';
export const SAMPLE_MODEL = relative('', resolveDefault('sample/model.yaml'));

/** The absolute path of what a setting names. */
export function resolveFile(path: string): string {
  // The service and its commands use the same one in every working directory.
  if (path === DEFAULT_DATABASE) return resolve(HOME, path);
  return [SAMPLE_DIRECTORY, SAMPLE_CLIENTS].includes(path) ? resolveDefault(path) : resolve(path);
}

function packaged(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

function resolveDefault(path: string): string {
  return existsSync(path) || !existsSync(packaged(path)) ? resolve(path) : packaged(path);
}
