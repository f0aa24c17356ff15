// The modules of the application and its dependencies, evaluated once in a worker for all of its suites: Jest would evaluate
// them for each suite again, which takes about three seconds of a processor.
import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/', import.meta.url));
const require = createRequire(import.meta.url);

const builtPath = (source) => join(BUILT, source.replace(/\.ts$/, '.js'));

function isCurrent(source) {
  const built = statSync(builtPath(source), { throwIfNoEntry: false });
  return built !== undefined && built.mtimeMs >= statSync(join(SOURCES, source)).mtimeMs;
}

/** Whether dist/ is built from src/ as it is now. */
const isBuilt = readdirSync(SOURCES, { recursive: true })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.endsWith('.d.ts'))
  .every(isCurrent);

/**
 * Constructors and objects of the language that modules compare values with, or keep properties on. A suite uses those of the
 * worker, so that an error or a date of a test is one for the application as well.
 */
const INTRINSICS = [
  ...['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError'],
  ...['Date', 'Map', 'Reflect', 'Set', 'URIError', 'WeakMap', 'WeakSet'],
];

/** Lets the suite of an environment share the modules. Without a current build it evaluates those of src/ by itself. */
export function shareModules(global) {
  if (!isBuilt) return;
  for (const name of INTRINSICS) global[name] = globalThis[name];
  global.sharedModules = {
    load: (path) => require(path.startsWith(SOURCES) ? builtPath(path.slice(SOURCES.length)) : path),
  };
}
