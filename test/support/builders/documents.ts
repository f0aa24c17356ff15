import { readdirSync, readFileSync } from 'node:fs';

/** Commands of a documentation page. */
export interface CommandBlock {
  readonly page: string;
  /** Line of the first command, from 1. */
  readonly line: number;
  readonly text: string;
  /** The reason in the comment above why tests do not run it, or null. */
  readonly reason: string | null;
  /** The output that the page shows below it. */
  readonly output: { readonly language: string; readonly text: string } | null;
}

const MARKER = /^<!-- not run: (.+) -->$/;
const OUTPUTS = ['json', 'ldif', 'text'];

/** Pages whose commands are run, or have a reason why not. */
export function pagesWithCommands(): string[] {
  const below = (directory: string) =>
    readdirSync(directory)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${directory}/${name}`);
  const examples = readdirSync('examples').map((name) => `examples/${name}`);
  return [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...['docs', 'bench', 'deploy', 'ldap', 'sample', ...examples].flatMap(below),
  ];
}

/** Indented blocks and fences marked `sh` contain commands; other fences name their language. */
export function commandBlocksOf(page: string): CommandBlock[] {
  const lines = readFileSync(page, 'utf8').split('\n');
  const parts = partsOf(lines);
  return parts.flatMap((part, index) => {
    if (part.kind !== 'sh') return [];
    const above = parts[index - 1];
    const below = parts[index + 1];
    const output = below !== undefined && OUTPUTS.includes(below.kind);
    return [
      {
        page,
        line: part.line,
        text: part.text,
        reason: above === undefined ? null : (MARKER.exec(above.text)?.[1] ?? null),
        output: output ? { language: below.kind, text: below.text } : null,
      },
    ];
  });
}

interface Part {
  /** `prose`, or the language of a fence; `sh` for indented blocks. */
  readonly kind: string;
  readonly line: number;
  readonly text: string;
}

/** Divides text at blank lines and fences. Within a list, an indented block belongs to its item. */
function partsOf(lines: readonly string[]): Part[] {
  const parts: Part[] = [];
  for (let index = 0; index < lines.length;) {
    const line = lines[index] ?? '';
    if (line === '') {
      index++;
      continue;
    }
    const fence = /^```(\w*)$/.exec(line);
    const end =
      fence === null
        ? endOf(lines, index, line.startsWith('    '))
        : lines.findIndex((other, at) => at > index && other === '```') + 1;
    const inside = fence === null ? lines.slice(index, end) : lines.slice(index + 1, end - 1);
    const isIndented = fence === null && line.startsWith('    ');
    parts.push({
      kind: fence?.[1] ?? (isIndented ? 'sh' : 'prose'),
      line: index + 1,
      text: (isIndented ? inside.map((each) => each.slice(4)) : inside).join('\n'),
    });
    index = end;
  }
  return parts;
}

/** The end of a paragraph or of an indented block, which may contain blank lines. */
function endOf(lines: readonly string[], start: number, isIndented: boolean): number {
  let end = start;
  while (
    end < lines.length &&
    (lines[end] !== '' || (isIndented && lines[end + 1]?.startsWith('    ') === true))
  )
    end++;
  return end;
}
