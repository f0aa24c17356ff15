import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Paths of default settings, which name files of the working directory, or else of this package. */
export const SAMPLE_DIRECTORY = 'sample/directory.ldif';
export const SAMPLE_CLIENTS = 'sample/clients.json';
export const DEFAULT_DATABASE = '.data/mirror';

/** The model file of the sample directory. */
export const SAMPLE_MODEL = relative('', resolveDefault('sample/model.yaml'));

/** The absolute path of what a setting names. */
export function resolveFile(path: string): string {
  const isDefault = [SAMPLE_DIRECTORY, SAMPLE_CLIENTS, DEFAULT_DATABASE].includes(path);
  return isDefault ? resolveDefault(path) : resolve(path);
}

function resolveDefault(path: string): string {
  const packaged = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return existsSync(path) || !existsSync(packaged) ? resolve(path) : packaged;
}
