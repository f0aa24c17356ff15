// The report: each command writes its section of bench/REPORT.md, and keeps the others.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { format, resolveConfig } from 'prettier';

const HEAD = `# Benchmark report

Each command of bench/README.md writes its section.`;

/** Formats a number with three significant digits. */
export function digits(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

/** A table of Markdown; the first column is text. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 ? '---' : '--:'));
  return [head, rule, ...rows].map(line).join('\n');
}

/** @param goals rows of a label, the smallest value or null, the largest or null, and what was measured */
export function goalTable(goals) {
  const rows = goals.map(([label, atLeast, atMost, value]) => {
    const isMet = (atLeast ?? -Infinity) <= value && value <= (atMost ?? Infinity);
    if (atLeast === null && atMost === null) return [label, '', digits(value), ''];
    const goal = atLeast === null ? `≤ ${digits(atMost)}` : `≥ ${digits(atLeast)}`;
    return [label, goal, digits(value), isMet ? 'met' : '**missed**'];
  });
  return table(['', 'goal', 'measured', ''], rows);
}

/**
 * Prints a section, and writes it to the report. A run with other sizes than the usual ones has a report of its own.
 * @param parts its paragraphs and tables
 */
export async function writeSection({ title, parts, isUsual }) {
  const file = isUsual ? 'bench/REPORT.md' : '.tmp/bench/REPORT.md';
  const section = [`## ${title}`, describeMachine(), ...parts].join('\n\n');
  console.log(`\n${section}\n`);
  const [, ...others] = existsSync(file) ? readFileSync(file, 'utf8').split(/^(?=## )/m) : [];
  const kept = others.filter((each) => !each.startsWith(`## ${title}\n`)).map((each) => each.trim());
  const text = [HEAD, ...[...kept, section].sort()].join('\n\n');
  mkdirSync(dirname(file), { recursive: true });
  const style = await resolveConfig('bench/README.md');
  writeFileSync(file, await format(text, { ...style, parser: 'markdown' }));
  console.log(file);
}

function describeMachine() {
  const { commit } = JSON.parse(readFileSync('dist/build.json', 'utf8'));
  const memory = Math.round(totalmem() / 2 ** 30);
  const date = new Date().toISOString().slice(0, 10);
  const processor = `${cpus()[0].model.trim()}, ${cpus().length} cores`;
  return `Measured on ${date} at commit ${commit ?? 'unknown'}: ${processor}, ${memory} GB of memory, Node.js ${process.versions.node}.`;
}
