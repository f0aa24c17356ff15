import { ServiceError } from '../common/errors.js';
import { ConfigError } from '../config/config.js';
import { DatabaseStartError } from '../database/connections/database-start.error.js';
import { ClientsFileError } from '../identity-provider/clients.js';

/** Exit codes of every command. 0: done; 1: failed; 2: wrong use. */
export const EXIT_FAILED = 1;
export const EXIT_WRONG_USE = 2;

/** The reason why a process cannot continue. */
export interface StartFailure {
  /** A code from docs/operations.md or docs/errors.md. */
  readonly code: string;
  /** One line for each problem. */
  readonly problems: readonly string[];
  readonly exitCode: number;
}

/**
 * Writes to standard error why the process cannot continue, one line for each problem.
 * @returns the exit code
 */
export function explainFailure(error: unknown): number {
  const { problems, exitCode } = describeFailure(error);
  for (const problem of problems) console.error(problem);
  return exitCode;
}

/**
 * Writes the same as JSON to standard output, for programs.
 * @returns the exit code
 */
export function explainFailureAsJson(error: unknown): number {
  const failure = describeFailure(error);
  printFailure(failure);
  return failure.exitCode;
}

export function printFailure({ code, problems }: StartFailure): void {
  console.log(JSON.stringify({ error: { code, message: problems.join('\n'), problems } }));
}

/**
 * From this call on, an uncaught error ends the process and prints only its stack. By default Node would
 * print all properties of the error, in which libraries store statements with their values, settings and
 * headers.
 */
export function endOnFaults(explain: (error: unknown) => number = explainFailure): void {
  process.on('uncaughtException', (error) => process.exit(explain(error)));
}

function describeFailure(error: unknown): StartFailure {
  if (error instanceof ConfigError || error instanceof ClientsFileError) {
    return { code: 'WRONG_SETTINGS', problems: error.problems, exitCode: EXIT_WRONG_USE };
  }
  if (error instanceof DatabaseStartError) return failed('DATABASE_UNUSABLE', error.message);
  if (error instanceof ServiceError) {
    const exitCode = error.code === 'BAD_USER_INPUT' ? EXIT_WRONG_USE : EXIT_FAILED;
    return { code: error.code, problems: [error.message], exitCode };
  }
  const { code, port, address, path } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code !== undefined && path !== undefined) return failed('FILE_UNUSABLE', (error as Error).message);
  if (code === 'EADDRINUSE') {
    return failed(
      'ADDRESS_UNUSABLE',
      `The port ${port ?? ''} is in use: stop what listens there, or set another one`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES') {
    return failed(
      'ADDRESS_UNUSABLE',
      `Nothing can listen on ${address ?? ''}:${port ?? ''}: check HOST and PORT`,
    );
  }
  return failed(
    'INTERNAL_SERVER_ERROR',
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  );
}

function failed(code: string, problem: string): StartFailure {
  return { code, problems: [problem], exitCode: EXIT_FAILED };
}
