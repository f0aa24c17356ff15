import type { Command } from 'commander';
import { styleText } from 'node:util';
import type { Config } from '../config/config.js';
import { nameDatabase } from '../config/settings/database.js';

/** The columns of the terminal. The output may be a file, or a terminal that reports no width. */
export function terminalWidth(): number {
  const { isTTY, columns } = process.stdout;
  return isTTY && columns > 0 ? columns : 80;
}

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Styles text for a terminal. Node decides by the stream, NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** Cuts a line to the maximum length, and marks the cut by the last character (pure). */
export function cut(text: string, most: number): string {
  const signs = [...text];
  return signs.length <= most ? text : `${signs.slice(0, most - 1).join('')}…`;
}

/** Formats rows with cells of equal widths, except the last of each (pure). */
export function describeRows(rows: readonly (readonly string[])[]): string[] {
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widthOf(column)))
      .join('  ')
      .trimEnd(),
  );
}

/** Commander removes the colors when the output is not a terminal that supports them. */
const styled = (style: 'bold' | 'cyan') => (text: string) =>
  styleText(style, text, { validateStream: false });

const EXIT_CODES = `
Exit codes:
  0    done
  1    failed: it could not be done, or a check found a problem
  2    wrong use: an option, an argument or a setting is wrong
  130  stopped by Ctrl-C

With --json standard output is JSON, an error too:
  {"error": {"code", "message", "problems"}}`;

/** Configures the format of help for this command and every command that is added afterwards. */
export function configureHelp(program: Command): void {
  program
    .configureHelp({
      styleTitle: styled('bold'),
      styleCommandText: styled('cyan'),
      styleSubcommandText: styled('cyan'),
      styleOptionText: styled('cyan'),
    })
    .addHelpText('after', EXIT_CODES);
}

/** Prints the result of a command that has written to the database, and which database that is. */
export function printWritten(
  { database }: Config,
  asJson: boolean,
  result: object,
  describe: (where: string) => string,
): void {
  const name = nameDatabase(database);
  console.log(asJson ? JSON.stringify({ ...result, database: name }) : describe(`in the ${name}`));
}

/** A command line, and what it is for. */
type Example = readonly [line: string, use: string];

/**
 * Adds a command that can print JSON, with its examples.
 * @param name with the arguments, such as `show <id>`
 */
export function addCommand(
  parent: Command,
  name: string,
  description: string,
  ...examples: Example[]
): Command {
  const command = parent.command(name).description(description);
  addExamples(command, ...examples);
  return command.option('--json', 'print the result, or an error, as JSON');
}

export function addExamples(command: Command, ...examples: Example[]): void {
  const lines = examples.flatMap(([line, use]) => [`  ${use}:`, `    $ ./directory ${line}`]);
  command.addHelpText('after', ['', 'Examples:', ...lines].join('\n'));
}
