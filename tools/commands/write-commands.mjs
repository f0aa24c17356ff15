// Writes docs/commands.md from the help of each command: `npm run commands`.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const INTRODUCTION = `# Commands

\`./directory COMMAND\` in a checkout, \`npx directory COMMAND\` with the [package](install.md#package), or \`node directory COMMAND\` in the
image. [operations.md](operations.md#commands) has their output as JSON, and the exit codes. \`npm run commands\` writes this page from
\`--help\`. Each command has it, and, except \`completion\`, \`--json\`.`;

/** The commands and subcommands in a text of help. */
export function commandsIn(help) {
  const [, list = ''] = help.split('\nCommands:\n');
  const names = [...list.split('\n\n')[0].matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);
  return names.filter((name) => name !== 'help');
}

/**
 * Each command as it is, without what all have: the heading has its name, and the introduction its general options.
 * @param helps the text of help by the command line
 */
export function formatCommandsPage(helps) {
  const sections = new Map();
  for (const [name, help] of Object.entries(helps)) {
    const heading = name.split(' ').slice(0, 2).join(' ');
    const text = help
      .replace(/^ +(?:-h, --help|--json) .*\n/gm, '')
      .replace(/Options:\n(?:\n|$)/, '')
      .trimEnd();
    sections.set(heading, [...(sections.get(heading) ?? []), text.replace(/\n\n(?=[a-z])/, '\n')]);
  }
  const formatted = [...sections].map(
    ([heading, texts]) => `## ${heading}\n\n\`\`\`text\n${texts.join('\n\n')}\n\`\`\``,
  );
  return `${[INTRODUCTION, ...formatted].join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const help = (...words) => execFileSync('bin/directory', [...words, '--help'], { encoding: 'utf8' });
  const helps = {};
  for (const name of commandsIn(help())) {
    const text = help(name);
    const subcommands = commandsIn(text);
    if (subcommands.length === 0) helps[`directory ${name}`] = text;
    for (const each of subcommands) helps[`directory ${name} ${each}`] = help(name, each);
  }
  writeFileSync('docs/commands.md', formatCommandsPage(helps));
}
