// Bundles the built service into dist/bundled/. A process loads 2,000 modules when it starts, and the bundle of them takes 60 percent
// of the processor time. The suites start hundreds of processes; start.e2e-spec.ts starts dist/ itself.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/** As deep as the directories of dist/, because modules find files relative to themselves. */
const OUTPUT = 'dist/bundled';
const STAMP = 'inputs.sha256';
const EMBEDDED = ['pglite.worker.mjs', 'create-database.mjs'];
const INPUTS = {
  main: 'dist/main.js',
  follower: 'dist/follower.js',
  worker: 'dist/worker.js',
  cli: 'dist/cli.js',
  // watch.mjs counts its calls.
  operations: 'dist/graphql/execution/operations.js',
};
/** Packages with native code or WebAssembly, and those that few processes load. */
const EXTERNAL = [/^node:/, /^sharp$/, /^@node-rs\//, /^@redis\//, /^@electric-sql\//, /^@opentelemetry\//];

export async function bundleService() {
  const stamp = hashInputs();
  if (existsSync(join(OUTPUT, STAMP)) && readFileSync(join(OUTPUT, STAMP), 'utf8') === stamp) return;
  const unfinished = `${OUTPUT}-${process.pid}`;
  const bundle = await rolldown({ input: INPUTS, platform: 'node', external: EXTERNAL, logLevel: 'silent' });
  await bundle.write({ dir: unfinished, keepNames: true, strictExecutionOrder: true });
  await bundle.close();
  for (const name of EMBEDDED) cpSync(join('dist/database/embedded', name), join(unfinished, name));
  writeFileSync(join(unfinished, STAMP), stamp);
  rmSync(OUTPUT, { recursive: true, force: true });
  renameSync(unfinished, OUTPUT);
}

function hashInputs() {
  const built = readdirSync('dist', { recursive: true })
    .filter((name) => /\.m?js$/.test(name) && !name.startsWith('bundled'))
    .map((name) => join('dist', name));
  const hash = createHash('sha256');
  for (const file of [...built.sort(), 'package-lock.json', 'test/support/bundle.mjs'])
    hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}
