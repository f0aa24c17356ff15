import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

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
