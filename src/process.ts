import { styleText } from 'node:util';
import { ServiceError } from './common/errors.js';
import { type Config, ConfigError, configProblems, readConfig } from './config/config.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { PROGRAM } from './config/paths.js';
import { DatabaseStartError } from './database/statements/database-error.js';
import { readClients } from './identity-provider/clients.js';

/** Exit codes of every command. 0: done; 1: failed; 2: wrong use; otherwise 128 and the number of the signal that ended it, such as 130. */
export const EXIT_FAILED = 1;
export const EXIT_WRONG_USE = 2;
export const EXIT_CLOSED_PIPE = 128 + 13;

/** Whether the command line asks for JSON, also that of the process that has started this one. It is known before it is parsed. */
export const AS_JSON = process.argv.includes('--json');

/** What errors of files, and of addresses to listen on, can have. */
interface SystemError extends NodeJS.ErrnoException {
  readonly port?: number | string;
  readonly address?: string;
}

/** The reason why a process cannot continue. */
interface Failure {
  /** A code from docs/operations.md or docs/http.md. */
  readonly code: string;
  /** One line for each problem. */
  readonly problems: readonly string[];
  /** What to do about them, where the problems do not say it. */
  readonly remedy?: string;
  readonly exitCode: number;
}

/** Writes problems to standard error, and below them what to do. */
export function printErrors(problems: readonly string[], remedy?: string): void {
  const stream = process.stderr;
  for (const problem of problems) console.error(`${styleText('red', 'error:', { stream })} ${problem}`);
  for (const line of remedy?.split('\n') ?? []) console.error(`       → ${line}`);
}

/** Says why the process cannot continue: on standard error, or as JSON on standard output. Returns the exit code. */
export function explain(error: unknown): number {
  const failure = describeFailure(error);
  if (AS_JSON) printFailure(failure);
  else printErrors(failure.problems, failure.remedy);
  return failure.exitCode;
}

/** Prints an error for programs. */
export function printFailure({ code, problems }: Pick<Failure, 'code' | 'problems'>): void {
  console.log(JSON.stringify({ error: { code, message: problems.join('\n'), problems } }));
}

/** From this call on, an uncaught error prints only its stack. Libraries store statements and values in other properties. */
export function endOnFaults(): void {
  process.on('uncaughtException', (error) => process.exit(explain(error)));
}

function describeFailure(error: unknown): Failure {
  if (error instanceof ConfigError) {
    const remedy = 'Correct the environment, .env, or the files that they name: docs/settings.md';
    return { code: 'WRONG_SETTINGS', problems: error.problems, remedy, exitCode: EXIT_WRONG_USE };
  }
  if (error instanceof DatabaseStartError) return failed('DATABASE_UNUSABLE', error.message);
  if (error instanceof ServiceError) {
    const exitCode = error.code === 'BAD_USER_INPUT' ? EXIT_WRONG_USE : EXIT_FAILED;
    return { code: error.code, problems: [error.message], exitCode };
  }
  if (!(error instanceof Error)) return failed('INTERNAL_SERVER_ERROR', String(error));
  const { code, path, port = '', address = '' }: SystemError = error;
  if (code !== undefined && path !== undefined) return failed('FILE_UNUSABLE', error.message);
  if (code === 'EADDRINUSE')
    return failed('ADDRESS_UNUSABLE', `The port ${port} is in use`, 'Stop what listens there, or set PORT');
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES')
    return failed('ADDRESS_UNUSABLE', `Nothing can listen on ${address}:${port}`, 'Correct HOST and PORT');
  return failed('INTERNAL_SERVER_ERROR', error.stack ?? error.message);
}

function failed(code: string, problem: string, remedy?: string): Failure {
  return { code, problems: [problem], ...(remedy !== undefined && { remedy }), exitCode: EXIT_FAILED };
}

/**
 * Reads the settings and checks the files that they name, before anything is opened.
 * @throws ConfigError with every problem found
 */
export function readUsableConfig(): Config {
  loadEnvironmentFile();
  return readConfig(undefined, ({ auth, scopes }) =>
    auth.issuer === null ? configProblems(() => readClients(auth.embeddedClients, scopes)) : [],
  );
}

/** A message of a process of a cluster to the first one: it serves, or all have to start again. */
export type Notice = 'serves' | 'reload';

export function notify(notice: Notice): void {
  // Without the first process, this one is about to end.
  process.send?.(notice, undefined, undefined, () => undefined);
}

/** Where the service is, and what to try next. Only a log for people has a demonstration: others are kept, and read by others. */
export function describeStart(config: Config, demo: { token: string; curl: string } | null): string {
  const { baseUrl, auth, database, directory } = config;
  const lines = [
    `Ready at ${baseUrl}`,
    `  Directory  ${directory.source.kind === 'file' ? directory.source.file : directory.source.url}`,
    `  Database   ${database.embedded === null ? 'PostgreSQL' : `PostgreSQL in ${database.embedded}`}`,
    `  Tokens of  ${auth.issuer ?? `${baseUrl} (embedded, for development only: ${baseUrl}/oauth2/token)`}`,
  ];
  if (demo !== null)
    lines.push(
      `  Service account «demo», token ${demo.token}`,
      `Try ${baseUrl} in a browser, or:`,
      demo.curl,
    );
  else if (auth.issuer === null) lines.push(`  Accounts   ${PROGRAM} service-account create --help`);
  return lines.join('\n');
}
