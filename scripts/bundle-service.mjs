// Bundles the compiled service into dist/bundled, which is what runs (docs/adr/0049-bundle.md): `npm run compile:bundle`.
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { filesOf, hashFiles, readDigest } from './build-inputs.mjs';

/** As deep as the directories of dist/, because modules find files relative to themselves. */
const OUTPUT = 'dist/bundled';
const STAMP = 'inputs.sha256';
const INPUTS = {
  service: 'dist/main.js',
  cli: 'dist/cli.js',
  // A test counts its calls.
  operations: 'dist/graphql/execution/operations.js',
};
/** What `npm start`, systemd and containers run: an older Node.js cannot load the service. */
const MAIN = "import '../../bin/require-node.cjs';\nimport('./service.js');\n";
/** Packages that stay in node_modules. */
const EXTERNAL = [
  /^node:/,
  // They contain native code. The client of Redis loads the second one for a command that the service does not use.
  /^sharp$/,
  /^@node-rs\//,
  // TypeORM loads it by name, so a bundled copy would be a second one.
  /^pg$/,
  // It calls the deprecated constructor Buffer. Node.js prints a warning, except for modules in node_modules.
  /^passport-http$/,
];
/** Nest creates all of them, and that of TypeORM looks for the package, which the bundle contains. */
const noHealthIndicators = {
  name: 'no-health-indicators',
  load: {
    filter: { id: /terminus.*health-indicators\.provider\.js$/ },
    handler: () => 'export const HEALTH_INDICATORS = [];',
  },
};

/** Does nothing if the bundle is of the same files. */
export async function bundleService() {
  const stamp = hashInputs();
  if (readDigest(join(OUTPUT, STAMP)) === stamp) return;
  const unfinished = `${OUTPUT}-${process.pid}`;
  const bundle = await rolldown({
    input: INPUTS,
    platform: 'node',
    external: EXTERNAL,
    plugins: [noHealthIndicators],
    // Apollo's own module looks for node:crypto again for each document, and without `require` hashes in JavaScript.
    resolve: { alias: { '@apollo/utils.createhash': 'node:crypto' } },
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: unfinished,
    // A running service that is updated in place still finds what it loads later.
    chunkFileNames: '[name].js',
    // V8 keeps the source text of every function in memory. Names and lines stay, for stack traces.
    comments: false,
    keepNames: true,
    strictExecutionOrder: true,
  });
  await bundle.close();
  writeFileSync(join(unfinished, 'main.js'), MAIN);
  // Data that modules read from beside them.
  for (const data of inputs().filter((name) => name.endsWith('.yaml')))
    copyFileSync(data, join(unfinished, basename(data)));
  writeFileSync(
    join(unfinished, 'licenses.md'),
    licensesOf(output.flatMap(({ moduleIds = [] }) => moduleIds)),
  );
  writeFileSync(join(unfinished, STAMP), stamp);
  rmSync(OUTPUT, { recursive: true, force: true });
  renameSync(unfinished, OUTPUT);
}

/** The license notices of the packages that modules belong to. */
function licensesOf(modules) {
  const roots = modules.flatMap((id) => /^\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []);
  const notices = [...new Set(roots)].sort().map((root) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const file = readdirSync(root).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? '' : readFileSync(join(root, file), 'utf8');
    return `## ${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return notices.join('\n');
}

function inputs() {
  return filesOf('dist').filter((name) => /\.(m?js|yaml)$/.test(name) && !name.startsWith('dist/bundled'));
}

function hashInputs() {
  return hashFiles('.', [...inputs(), 'package-lock.json', 'scripts/bundle-service.mjs']);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await bundleService();
