// Bundles the explorer into web/explorer/dist, unless its inputs are unchanged, which saves seconds.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { EXPLORER_INPUTS, filesOf, hashFiles, readDigest } from './build-inputs.mjs';

const OUTPUT = 'web/explorer/dist';
/** Written at the end of a successful build. */
const STAMP = join(OUTPUT, 'inputs.sha256');

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

const inputs = hashFiles('.', EXPLORER_INPUTS);
if (readDigest(STAMP) !== inputs) {
  // The bundler is loaded only if it is needed.
  const { build } = await import('vite');
  const { config } = await import('../web/explorer/vite.config.mjs');
  await build(config);
  await compress();
  writeFileSync(STAMP, inputs);
}
