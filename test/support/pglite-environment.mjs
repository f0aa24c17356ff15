import { readFileSync } from 'node:fs';
import { Environment } from './environment.mjs';

/**
 * PGlite, compiled once in a process of the tests: V8 gives it to whoever comes with the same bytes, for as long as somebody
 * holds it. Otherwise every suite would compile it anew, and run it unoptimised at first.
 */
export const pglite = new WebAssembly.Module(
  readFileSync(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))),
);

export default Environment;
