import { existsSync } from 'node:fs';
import { clearLine, cursorTo } from 'node:readline';
import { styleText } from 'node:util';
import { Logger } from '@nestjs/common';
import { printable } from '../common/printable.js';
import { type Config, configFor, readConfig } from '../config/config.js';
import type { PresetName } from '../config/model/presets/presets.js';
import { dataDirectoryOf, nameDatabase } from '../config/settings/database.js';
import { DirectoryDataSource } from '../database/connections/data-source.js';
import { DatabaseStartError } from '../database/statements/database-error.js';
import { ENTITIES } from '../entities.js';
import { AS_JSON } from '../process.js';
import { NestLog } from '../monitoring/log.js';
import { recognize } from '../sources/ldap/ldap-servers.js';

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

/** Styles text for a terminal. Node decides by the stream, NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** Formats rows with cells of equal widths as lines for a terminal. */
export function linesOf(rows: readonly (readonly string[])[]): string[] {
  const safe = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of safe)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  const lines = safe.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd());
}

/** Prints the result of a command. */
export function print(result: object, describe: () => string): void {
  console.log(AS_JSON ? JSON.stringify(result) : describe());
}

/** Prints a result as a table with a head, or that it is empty. */
export function printTable(result: object, rows: readonly (readonly string[])[], none: string): void {
  print(result, () => (rows.length === 1 ? none : linesOf(rows).join('\n')));
}

/** Prints the result of a command that has written to the database, and which database that is. */
export function printWritten(
  { database }: Config,
  result: object,
  describe: (where: string) => string,
): void {
  const name = nameDatabase(database);
  print({ ...result, database: name }, () => describe(`in the ${name}`));
}

/** Milliseconds after which a command shows its progress. */
const SHOW_AFTER_MS = 2000;

/** Shows the present activity, in place of the previous one. */
export type Show = (text: string) => void;

/**
 * Shows what takes longer than two seconds as one line of standard error, which is redrawn in place and finally erased. Shows
 * nothing without a terminal, or with --json.
 */
export async function withProgress<Result>(work: (show: Show) => Promise<Result>): Promise<Result> {
  const stream = process.stderr;
  if (!stream.isTTY || AS_JSON) return work(() => undefined);
  let line = '';
  let isDue = false;
  const redraw = (text: string) => {
    cursorTo(stream, 0);
    clearLine(stream, 0);
    // A line that is wider than the terminal could not be erased.
    stream.write(text.slice(0, (stream.columns || 80) - 1));
  };
  const timer = setTimeout(() => {
    isDue = true;
    redraw(line);
  }, SHOW_AFTER_MS);
  return work((text) => {
    line = text;
    if (isDue) redraw(text);
  }).finally(() => {
    clearTimeout(timer);
    if (isDue) redraw('');
  });
}

/** The number of entries that were read, in words. */
export function entriesRead(entries: number): string {
  return `${entries.toLocaleString('en')} entries read`;
}

/** The kind of the server; null if the model names it, or the server does not respond, or there is none. */
export async function readKind({ directory }: Config): Promise<PresetName | null> {
  return directory.source.kind === 'file' ? null : recognize(directory, new AbortController().signal);
}

/** Reads the configuration, with the preset of the server if it is recognized. */
export async function readRecognizedConfig(): Promise<Config> {
  const config = readConfig();
  const kind = await readKind(config);
  return kind === null ? config : configFor(config, kind);
}

interface DatabaseOptions {
  /** Default: true. Otherwise nothing is changed in the database. */
  readonly migrates?: boolean;
  /** Whether an embedded database is created if there is none. Default: false. */
  readonly creates?: boolean | undefined;
}

/** Whether the settings name an embedded database that no service has used yet. */
export function isMissing({ database }: Pick<Config, 'database'>): boolean {
  return database.embedded !== null && !existsSync(dataDirectoryOf(database.embedded));
}

/** Opens the database while `work` runs, without building the whole application, which would take longer. */
export async function withDatabase<Result>(
  config: Config,
  work: (dataSource: DirectoryDataSource) => Promise<Result>,
  { creates = false, migrates = true }: DatabaseOptions = {},
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
