// Which files a build is made of, and their digest: a build of the same files is not repeated.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

/** What the explorer is built from. */
export const EXPLORER_INPUTS = [
  'web/explorer/source',
  'web/explorer/tsconfig.json',
  'web/explorer/vite.config.mjs',
  'web/explorer/patch-graphiql.mjs',
  'src/explorer/page-settings.ts',
  'package-lock.json',
];

/** What `npm run compile` reads, and the digest of the inputs of the last successful build. */
export const INPUTS = [
  ...EXPLORER_INPUTS,
  'src',
  'scripts/bundle-service.mjs',
  'nest-cli.json',
  'tsconfig.build.json',
  '.swcrc',
];
export const DIGEST_FILE = 'dist/inputs.sha256';

/** The files below `path`, or `path` itself if it is a file. */
export function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { recursive: true }).map((name) => join(path, name));
  return files.filter((file) => statSync(file).isFile()).sort();
}

/**
 * The SHA-256 digest of files and folders below `root`, in hexadecimal digits. Builds compare contents and not times, because
 * `npm prune` and `git checkout` write files that did not change.
 */
export function hashFiles(root, paths) {
  const hash = createHash('sha256');
  for (const file of paths.flatMap((path) => filesOf(join(root, path)))) {
    const content = readFileSync(file);
    hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** The digest that `file` holds, or null if there is no complete build. */
export function readDigest(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return null;
  }
}
