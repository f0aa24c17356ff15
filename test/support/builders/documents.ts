import { readdirSync, readFileSync } from 'node:fs';

/** Commands that a page tells its readers to run. */
export interface CommandBlock {
  readonly page: string;
  /** Where it begins, from 1. */
  readonly line: number;
  readonly text: string;
  /** Why the tests do not run it, as the comment above it says; null: they do. */
  readonly reason: string | null;
  /** What the page shows as its output, right below it. */
  readonly output: { readonly language: string; readonly text: string } | null;
}

const MARKER = /^<!-- not run: (.+) -->$/;
const OUTPUTS = ['json', 'ldif', 'text'];

/** The pages whose commands are run, or say why not. */
export function pagesWithCommands(): string[] {
  const below = (directory: string) =>
    readdirSync(directory)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${directory}/${name}`);
  const examples = readdirSync('examples').map((name) => `examples/${name}`);
  return [
    'README.md',
    'CONTRIBUTING.md',
    ...['docs', 'bench', 'deploy', 'ldap', 'sample', ...examples].flatMap(below),
  ];
}

/** What is indented is a command, and so is a fence that says `sh`; everything else stands in a fence that says what it is. */
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
  /** `prose`, or the language of a fence; what is indented is `sh`. */
  readonly kind: string;
  readonly line: number;
  readonly text: string;
}

/** What blank lines and fences part. Within a list, what is indented belongs to its item. */
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

/** Where a paragraph ends, or what is indented, which may have blank lines in it. */
function endOf(lines: readonly string[], start: number, isIndented: boolean): number {
  let end = start;
  while (
    end < lines.length &&
    (lines[end] !== '' || (isIndented && lines[end + 1]?.startsWith('    ') === true))
  )
    end++;
  return end;
}
