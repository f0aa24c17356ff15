// Bundles the explorer into web/explorer/dist, unless its inputs are unchanged, which saves seconds.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const INPUTS = [
  'web/explorer/source',
  'web/explorer/tsconfig.json',
  'web/explorer/vite.config.mjs',
  'web/explorer/patch-graphiql.mjs',
  'src/explorer/page-settings.ts',
  'package-lock.json',
];
const OUTPUT = 'web/explorer/dist';
/** Written at the end of a successful build. */
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
    return null; // There is no complete build.
  }
}

/** Writes a Brotli file beside each compressible file: a fourth of the size, for browsers that accept it. */
async function compress() {
  const files = filesOf(join(OUTPUT, 'assets')).filter((file) => /\.(js|css)$/.test(file));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 7 };
  await Promise.all(
    files.map(async (file) => {
      writeFileSync(`${file}.br`, await promisify(brotliCompress)(readFileSync(file), { params }));
    }),
  );
}

const inputs = hashInputs();
if (readStamp() !== inputs) {
  // The bundler is loaded only if it is needed.
  const { build } = await import('vite');
  const { config } = await import('../web/explorer/vite.config.mjs');
  await build(config);
  await compress();
  writeFileSync(STAMP, inputs);
}
