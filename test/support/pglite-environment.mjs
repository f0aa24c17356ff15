import { readFileSync } from 'node:fs';
import { Environment } from './environment.mjs';

/**
 * Compiles PGlite once per process of the tests: V8 returns the compiled module for the same bytes while a reference exists.
 * Otherwise each suite would compile it again, and run unoptimized code at first.
 */
export const pglite = new WebAssembly.Module(
  readFileSync(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))),
);

export default Environment;
