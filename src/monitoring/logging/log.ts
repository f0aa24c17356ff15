import { pino } from 'pino';
import type { Config } from '../../config/config.js';
import { type LogStream, TextStream } from './text-stream.js';

/** Bytes of request lines that are written together, and milliseconds that a line waits for others. */
const AT_ONCE = 4096;
const LONGEST_WAIT = 200;
/** Maximum bytes of unwritten lines. Further lines are lost, and the service continues. */
const MOST_WAITING = 16_000_000;

/** Names of pino for the levels of LOG_LEVEL, which log collectors know. */
const LEVELS = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  log: 'info',
  debug: 'debug',
  verbose: 'trace',
} as const satisfies Record<Config['logLevel'], pino.Level>;

/** The log of the process. It buffers lines; call `flush` after a line that must not wait. */
export interface Log {
  readonly lines: pino.Logger;
  flush(): void;
}

export type LogConfig = Pick<Config, 'logLevel' | 'monitoring'>;

/** @param stream default: standard output */
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

/** One stream per process. It writes in the background, and the remaining lines when the process ends in any way. */
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
