import { ConfigError } from '../config/config.js';
import { DatabaseStartError } from '../database/database-start.error.js';
import { ServiceError } from '../common/errors.js';
import { ClientsFileError } from '../identity-provider/clients.js';

/** Exit codes of every command: 0 done, 1 failed, 2 wrong use. */
export const EXIT_FAILED = 1;
export const EXIT_WRONG_USE = 2;

/**
 * Says on standard error why the process cannot go on, one line for each problem.
 * @returns the exit code
 */
export function explainFailure(error: unknown): number {
  const { lines, code } = explain(error);
  for (const line of lines) console.error(line);
  return code;
}

/**
 * From here on the process ends on what nobody has caught, with its stack and nothing else. Node would print all that is at
 * the error, and libraries put statements with their values, settings and headers there.
 */
export function endOnFaults(): void {
  process.on('uncaughtException', (error) => process.exit(explainFailure(error)));
}

function explain(error: unknown): { lines: readonly string[]; code: number } {
  if (error instanceof ConfigError || error instanceof ClientsFileError) {
    return { lines: error.problems, code: EXIT_WRONG_USE };
  }
  if (error instanceof DatabaseStartError || error instanceof ServiceError) {
    const isWrongUse = error instanceof ServiceError && error.code === 'BAD_USER_INPUT';
    return { lines: [error.message], code: isWrongUse ? EXIT_WRONG_USE : EXIT_FAILED };
  }
  const { code, port, address } = error as { code?: string; port?: number; address?: string };
  if (code === 'EADDRINUSE') {
    return {
      lines: [`The port ${port ?? ''} is in use: stop what listens there, or set PORT`],
      code: EXIT_FAILED,
    };
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES') {
    return {
      lines: [`Nothing can listen on ${address ?? ''}:${port ?? ''}: check HOST and PORT`],
      code: EXIT_FAILED,
    };
  }
  return {
    lines: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
    code: EXIT_FAILED,
  };
}
