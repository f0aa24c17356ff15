import { existsSync } from 'node:fs';
import { clearLine, cursorTo } from 'node:readline';
import { Logger } from '@nestjs/common';
import { printable } from '../common/printable.js';
import { type Config, configFor, readConfig } from '../config/config.js';
import { dataDirectoryOf, nameDatabase } from '../config/settings/database.js';
import { DirectoryDataSource } from '../database/connections/data-source.js';
import { DatabaseStartError } from '../database/statements/database-error.js';
import { ENTITIES } from '../entities.js';
import { AS_JSON } from '../process.js';
import { NestLog } from '../monitoring/log.js';
import { recognize } from '../sources/ldap/ldap-servers.js';

/** Formats a value of a result for people. */
function shown(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object' && value !== null) return Object.values(value).map(shown).join(', ');
  if (typeof value === 'string') return printable(value);
  return value === null ? 'none' : JSON.stringify(value);
}

/** Formats rows with cells of equal widths as lines for a terminal. */
export function linesOf(rows: readonly (readonly unknown[])[]): string[] {
  const texts = rows.map((row) => row.map(shown));
  const widthOf = (column: number) =>
    texts.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0);
  const widths = texts[0]?.map((_, column) => widthOf(column)) ?? [];
  const lines = texts.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd());
}

/** Prints the result of a command. */
export function print(result: object, text: string): void {
  console.log(AS_JSON ? JSON.stringify(result) : text);
}

/** Prints a result as a table of some of the properties of objects, or that there are none. */
export function printTable<Row extends object>(
  result: object,
  rows: readonly Row[],
  columns: readonly (keyof Row & string)[],
  none: string,
): void {
  const head = columns.map((name) => name.replace(/[A-Z]/g, ' $&').toUpperCase());
  const lines = linesOf([head, ...rows.map((row) => columns.map((name) => row[name]))]);
  print(result, rows.length === 0 ? none : lines.join('\n'));
}

/** Prints the result of a command that has written to the database, and which database that is. */
export function printWritten({ database }: Config, result: object, text: string): void {
  const name = nameDatabase(database);
  print({ ...result, database: name }, `In the ${name}: ${text}`);
}

/** Milliseconds after which a command shows its progress, and between two drawings of it. */
const SHOW_AFTER_MS = 2000;
const REDRAWN_EACH_MS = 200;

/** Shows the present activity, in place of the previous one. */
export type Show = (text: string) => void;

/**
 * Shows what takes longer than two seconds as one line of standard error, which is redrawn in place and finally erased. Shows
 * nothing without a terminal, or with --json.
 */
export async function withProgress<Result>(work: (show: Show) => Promise<Result>): Promise<Result> {
  const stream = process.stderr;
  if (!stream.isTTY || AS_JSON) return work(() => undefined);
  const begun = performance.now();
  let line = '';
  const redraw = () => {
    if (performance.now() - begun < SHOW_AFTER_MS) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
    // A line that is wider than the terminal could not be erased.
    stream.write(line.slice(0, (stream.columns || 80) - 1));
  };
  const timer = setInterval(redraw, REDRAWN_EACH_MS);
  return work((text) => {
    line = text;
  }).finally(() => {
    clearInterval(timer);
    line = '';
    redraw();
  });
}

export function entriesRead(entries: number): string {
  return `${entries.toLocaleString('en')} entries read`;
}

/** Reads the configuration, with the preset of the server if the model does not name it, and the server responds. */
export async function readRecognizedConfig(): Promise<Config> {
  const config = readConfig();
  const { directory } = config;
  if (directory.source.kind === 'file') return config;
  const kind = await recognize(directory, new AbortController().signal);
  return kind === null ? config : configFor(config, kind);
}

/** Whether the settings name an embedded database that no service has used yet. */
export function isMissing({ database }: Pick<Config, 'database'>): boolean {
  return database.embedded !== null && !existsSync(dataDirectoryOf(database.embedded));
}

/**
 * Opens the database while `work` runs, without building the whole application, which would take longer.
 * @param options `creates`: an embedded database, if there is none; without `migrates`, nothing is changed
 */
export async function withDatabase<Result>(
  config: Config,
  work: (dataSource: DirectoryDataSource) => Promise<Result>,
  { creates = false, migrates = true }: { creates?: boolean | undefined; migrates?: boolean } = {},
): Promise<Result> {
  if (!creates && isMissing(config))
    throw new DatabaseStartError(
      `The ${nameDatabase(config.database)} does not exist: no service has used it. Start the service first, or set DATABASE_URL ` +
        'to the database of the service. «sync» and «service-account create» create it with --new',
    );
  // Standard output is reserved for the result of the command. Errors go to standard error as text.
  const monitoring = { ...config.monitoring, logFormat: 'text' } as const;
  Logger.overrideLogger(NestLog.of({ logLevel: 'warn', monitoring }, process.stderr));
  const dataSource = new DirectoryDataSource(config.database, ENTITIES, migrates);
  await withProgress((show) => {
    show('Opening the database');
    return dataSource.initialize();
  });
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
