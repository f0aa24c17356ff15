// Writes where the processor time of each scenario goes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ROOT } from '../child.mjs';
import { percent, table } from '../report/numbers.mjs';

const FILE = join(ROOT, 'bench/PROFILES.md');
const MOST_PARTS = 10;

const HEAD = `# Profiles

Written by \`npm run bench -- --profile\`: the parts of each server that take most of its processor time, as shares of its own time without that of
PostgreSQL. A folder is one of the service, another name a package. A part counts without what it calls.`;

/** @param sections {[string, { parts: { name: string, share: number }[] }][]} of the scenarios, by their names */
export async function writeProfiles(sections) {
  const texts = sections.map(([name, { parts }]) => {
    const rows = parts.slice(0, MOST_PARTS).map((part) => [part.name, percent(part.share)]);
    return `## ${name}\n\n${table(['', 'share'], rows)}`;
  });
  const style = await resolveConfig(FILE);
  writeFileSync(FILE, await format([HEAD, ...texts].join('\n\n'), { ...style, parser: 'markdown' }));
}
