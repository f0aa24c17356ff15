// The modules of the application and its dependencies, evaluated once per worker for all its suites: Jest would evaluate them for
// each suite, which takes about three seconds of processor time.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/', import.meta.url));
const require = createRequire(import.meta.url);

const builtPath = (source) => join(BUILT, source.replace(/\.ts$/, '.js'));

function isCurrent(source) {
  const built = statSync(builtPath(source), { throwIfNoEntry: false });
  return built !== undefined && built.mtimeMs >= statSync(join(SOURCES, source)).mtimeMs;
}

const files = readdirSync(SOURCES, { recursive: true }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.endsWith('.d.ts'),
);

/** Whether dist/ is up to date with src/. */
const isBuilt = files.every(isCurrent);

/** The modules that others import while they run. Those directly in src/ start a process. */
function importedLater() {
  const found = files.flatMap((file) =>
    [...readFileSync(join(SOURCES, file), 'utf8').matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, target]) =>
      join(dirname(file), target),
    ),
  );
  return [...new Set(found)].filter((file) => file.includes('/'));
}

let loading = null;

/**
 * Loads them before the first suite of a worker: an import that a suite has left behind would otherwise make `require` of the same
 * module fail in the next suite.
 */
export function loadEarly() {
  loading ??= isBuilt ? load() : Promise.resolve();
  return loading;
}

async function load() {
  for (const file of importedLater()) await import(pathToFileURL(join(BUILT, file)).href);
}

/**
 * Constructors and objects of the language that modules compare values with, or define properties on. A suite uses those of the
 * worker, so that its errors and dates have the same classes as those of the application.
 */
const INTRINSICS = [
  ...['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError'],
  ...['Date', 'Map', 'Reflect', 'Set', 'URIError', 'WeakMap', 'WeakSet'],
];

/** Lets the suite of an environment share the modules. Without an up-to-date build, it evaluates those of src/. */
export function shareModules(global) {
  if (!isBuilt) return;
  for (const name of INTRINSICS) global[name] = globalThis[name];
  global.sharedModules = {
    load: (path) => require(path.startsWith(SOURCES) ? builtPath(path.slice(SOURCES.length)) : path),
  };
}
