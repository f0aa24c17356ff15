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

/** A fence, an indented block, which may contain blank lines, or a paragraph. */
const PARTS = /^```(\w*)\n([^]*?)^```$|^ {4}.*(?:\n\n? {4}.*)*|^.+(?:\n.+)*/gm;

/** Indented blocks and fences marked `sh` contain commands; other fences name their language. */
export function commandBlocksOf(page: string): CommandBlock[] {
  const content = readFileSync(page, 'utf8');
  const parts = [...content.matchAll(PARTS)].map(({ 0: whole, 1: language, 2: inside = '', index }) => ({
    kind: language ?? (whole.startsWith('    ') ? 'sh' : 'prose'),
    line: content.slice(0, index).split('\n').length,
    text: language === undefined ? whole.replace(/^ {4}/gm, '') : inside.replace(/\n$/, ''),
  }));
  return parts.flatMap(({ kind, line, text }, index) => {
    if (kind !== 'sh') return [];
    const [above, below] = [parts[index - 1], parts[index + 1]];
    const output =
      below !== undefined && OUTPUTS.includes(below.kind) ? { language: below.kind, text: below.text } : null;
    return [{ page, line, text, reason: MARKER.exec(above?.text ?? '')?.[1] ?? null, output }];
  });
}
