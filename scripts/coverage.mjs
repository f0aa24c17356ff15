// Runs npm test, or the given suites of it, and prints which share of the statements of src/ has run: npm run coverage [-- PATHS]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mergeProcessCovs } from '@bcoe/v8-coverage';
import toIstanbul from 'v8-to-istanbul';

mkdirSync('.tmp', { recursive: true });
const directory = mkdtempSync(resolve('.tmp/coverage-'));
const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'unit', 'processes', 'postgres'];
const env = { ...process.env, COVERAGE_DIRECTORY: directory };
const { status } = spawnSync(process.execPath, [...jest, '--', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
});

let merged = { result: [] };
for (const name of readdirSync(directory))
  merged = mergeProcessCovs([merged, JSON.parse(readFileSync(join(directory, name), 'utf8'))]);
const functionsOf = new Map(merged.result.map(({ url, functions }) => [fileURLToPath(url), functions]));
const files = readdirSync('dist', { recursive: true }).filter((name) => /^(?!bundled).*\.js$/.test(name));
const shares = await Promise.all(
  files.map(async (name) => {
    const path = resolve('dist', name);
    const converter = toIstanbul(path);
    await converter.load();
    const none = {
      ranges: [{ startOffset: 0, endOffset: readFileSync(path).length, count: 0 }],
      isBlockCoverage: true,
    };
    converter.applyCoverage(functionsOf.get(path) ?? [{ functionName: '', ...none }]);
    const [[source, { s }]] = Object.entries(converter.toIstanbul());
    const counts = Object.values(s);
    return {
      source: relative('', source),
      all: counts.length,
      run: counts.filter((count) => count > 0).length,
    };
  }),
);
const sum = (key) => shares.reduce((total, each) => total + each[key], 0);
for (const { source, all, run } of shares.filter(({ all, run }) => run / all < 0.9))
  console.log(`${((100 * run) / all).toFixed(1).padStart(5)} %  ${source}`);
console.log(
  `${((100 * sum('run')) / sum('all')).toFixed(1)} % of ${sum('all')} lines with statements have run`,
);
process.exitCode = status === 0 && sum('run') / sum('all') >= 0.9 ? 0 : 1;
