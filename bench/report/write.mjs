// Writes the report, its picture and the samples.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ROOT } from '../child.mjs';
import { drawChart } from './chart.mjs';
import { writeReport } from './markdown.mjs';
import { digits } from './numbers.mjs';
import { readPrevious } from './previous.mjs';

const SAMPLES = '.tmp/bench/samples.json';

export async function writeFiles({ out, quick }, results) {
  mkdirSync('.tmp/bench', { recursive: true });
  writeFileSync(SAMPLES, JSON.stringify(results.figures, null, 1));
  const date = new Date().toISOString().slice(0, 10);
  const report = join(out, 'REPORT.md');
  const previous = readPrevious(report);
  const text = writeReport({ ...results, previous, date, isQuick: quick });
  const style = await resolveConfig(join(ROOT, report));
  writeFileSync(report, await format(text, { ...style, parser: 'markdown' }));
  writeFileSync(join(out, 'ratios.svg'), drawChart(results.goals));
  for (const { label, value, isMet } of results.goals) {
    console.log(`${isMet === null ? ' ' : isMet ? '✓' : '✗'} ${digits(value).padStart(6)}  ${label}`);
  }
  console.log(`\n${report}`);
}
