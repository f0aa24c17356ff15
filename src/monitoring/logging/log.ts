import { pino } from 'pino';
import type { Config } from '../../config/config.js';
import { type LogStream, TextStream } from './text-stream.js';

/** Bytes of request lines that are written at once, and milliseconds that one waits for others at most. */
const AT_ONCE = 4096;
const LONGEST_WAIT = 200;
/** Bytes that wait for whoever reads the log: beyond, lines are lost, and the service goes on. */
const MOST_WAITING = 16_000_000;

/** pino's names for the levels of LOG_LEVEL: those that whoever collects logs knows. */
const LEVELS = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  log: 'info',
  debug: 'debug',
  verbose: 'trace',
} as const satisfies Record<Config['logLevel'], pino.Level>;

/** The log of the process. Lines are gathered: `flush` after one that must not wait. */
export interface Log {
  readonly lines: pino.Logger;
  flush(): void;
}

export type LogConfig = Pick<Config, 'logLevel' | 'monitoring'>;

/** @param stream without it, standard output */
export function createLog(
  { logLevel, monitoring }: LogConfig,
  stream: LogStream = standardOutput(),
  isTerminal = process.stdout.isTTY,
): Log {
  const isText = (monitoring.logFormat ?? (isTerminal ? 'text' : 'json')) === 'text';
  const lines = pino(
    {
      level: LEVELS[logLevel],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    isText
      ? new TextStream(stream, isTerminal && process.stdout.isTTY && process.stdout.hasColors())
      : stream,
  );
  return { lines, flush: () => stream.flush?.() };
}

let shared: LogStream | null = null;

/**
 * Writes in the background, so that nobody waits for whoever reads the log, and what is left when the process ends, however
 * it does: one for the process, since it listens for that end.
 */
function standardOutput(): LogStream {
  shared ??= pino.destination({
    dest: 1,
    sync: false,
    minLength: AT_ONCE,
    maxLength: MOST_WAITING,
    periodicFlush: LONGEST_WAIT,
  });
  return shared;
}
