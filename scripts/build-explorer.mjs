// Bundles the explorer into web/explorer/dist, unless what is there was made of the same files: that takes seconds.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INPUTS = [
  'web/explorer/source',
  'web/explorer/tsconfig.json',
  'web/explorer/vite.config.mjs',
  'src/explorer/page-settings.ts',
  'package-lock.json',
];
const OUTPUT = 'web/explorer/dist';
/** Written last by a build that has succeeded. */
const STAMP = join(OUTPUT, 'inputs.sha256');

function hashInputs() {
  const hash = createHash('sha256');
  for (const file of INPUTS.flatMap(filesOf)) hash.update(`${file}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { recursive: true }).map((name) => join(path, name));
  return files.filter((file) => statSync(file).isFile()).sort();
}

function readStamp() {
  try {
    return readFileSync(STAMP, 'utf8');
  } catch {
    return null; // Nothing was built, or not to its end.
  }
}

const inputs = hashInputs();
if (readStamp() !== inputs) {
  // The bundler is loaded only where there is something to do.
  const { build } = await import('vite');
  const { config } = await import('../web/explorer/vite.config.mjs');
  await build(config);
  writeFileSync(STAMP, inputs);
}
