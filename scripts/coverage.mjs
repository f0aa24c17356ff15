// Runs npm test, or the given suites of it, and prints which share of the statements of src/ has run: npm run coverage [-- PATHS]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

mkdirSync('.tmp', { recursive: true });
const directory = mkdtempSync(resolve('.tmp/coverage-'));
const projects = ['--selectProjects', 'unit', 'processes', 'postgres'];
const jest = ['node_modules/jest/bin/jest.js', ...projects, '--', ...process.argv.slice(2)];
const env = { ...process.env, COVERAGE_DIRECTORY: directory };
const { status } = spawnSync(process.execPath, jest, { stdio: 'inherit', env });

/** The places of statements in a file of dist/, without those of declarations. */
function statementsOf(path) {
  const places = [];
  const visit = (node) => {
    if (ts.isStatement(node) && !ts.isBlock(node) && !ts.isDeclarationStatement(node))
      places.push(node.getStart());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  return places;
}

/** Whether the innermost range around a place has run. */
function hasRun(ranges, place) {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= place && place < endOffset);
  around.sort((one, other) => one.endOffset - one.startOffset - (other.endOffset - other.startOffset));
  return (around[0]?.count ?? 0) > 0;
}

const names = readdirSync('dist', { recursive: true }).filter((name) => /^(?!bundled).*\.js$/.test(name));
const all = new Map(names.map((name) => [resolve('dist', name), statementsOf(resolve('dist', name))]));
const missing = new Map([...all].map(([path, places]) => [path, new Set(places)]));
for (const name of readdirSync(directory))
  for (const { url, functions } of JSON.parse(readFileSync(join(directory, name), 'utf8')).result) {
    const ranges = functions.flatMap((each) => each.ranges);
    const places = missing.get(fileURLToPath(url)) ?? new Set();
    for (const place of places) if (hasRun(ranges, place)) places.delete(place);
  }
const sum = (counts) => counts.reduce((total, each) => total + each, 0);
const [count, left] = [all, missing].map((places) =>
  sum([...places.values()].map((each) => each.length ?? each.size)),
);
for (const [path, { size }] of [...missing].sort(([, one], [, other]) => other.size - one.size).slice(0, 20))
  console.log(`${String(size).padStart(5)} of ${all.get(path).length} have not run: ${path}`);
console.log(`${((100 * (count - left)) / count).toFixed(1)} % of ${count} statements have run`);
process.exitCode = status === 0 && left / count <= 0.1 ? 0 : 1;
