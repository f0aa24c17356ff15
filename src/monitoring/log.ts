import { constants, fstatSync, openSync } from 'node:fs';
import { isNativeError } from 'node:util/types';
import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { pino } from 'pino';
import type { Config } from '../config/config.js';

/** Names of pino for the levels of LOG_LEVEL, which log collectors know. */
const LEVELS = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  log: 'info',
  debug: 'debug',
  verbose: 'trace',
} as const satisfies Record<LogLevel, pino.Level>;

/**
 * Bytes of lines that are written together. A pipe takes so many without bytes of other processes between them (POSIX.1-2017, write;
 * PIPE_BUF of Linux): several processes of a service write to one output.
 */
const WRITTEN_TOGETHER = 4096;
/** Milliseconds that a line waits for others. */
const LONGEST_WAIT_MS = 200;
/** Maximum bytes of unwritten lines. Further lines are lost, and the service continues. */
const MOST_WAITING = 4_000_000;
/** How often the end of the process waits a tenth of a second for a reader that takes nothing. */
const LAST_ATTEMPTS = 20;

type LogConfig = Pick<Config, 'logLevel' | 'monitoring'>;

/** Output of a log. */
interface LogStream {
  write(line: string): unknown;
}

let shared: pino.DestinationStream | null = null;

/** One stream per process, which opens with the first line. */
const STANDARD_OUTPUT: LogStream = {
  write(line) {
    shared ??= openOutput();
    shared.write(line);
  },
};

/** @param stream default: standard output */
export function createLog(config: LogConfig, stream = STANDARD_OUTPUT): pino.Logger {
  const output = isTextLog(config) ? { write: (line: string) => stream.write(textOfLine(line)) } : stream;
  return pino(
    {
      level: LEVELS[config.logLevel],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    output,
  );
}

/** Whether the log is for people, and not for programs that keep it. */
export function isTextLog({ monitoring }: Pick<LogConfig, 'monitoring'>): boolean {
  return (monitoring.logFormat ?? (process.stdout.isTTY ? 'text' : 'json')) === 'text';
}

/**
 * Opens standard output for lines. A line that cannot be written stays in the buffer of pino, and is written with a later one: the
 * process neither fails nor waits because of it, except for a moment at its end.
 */
function openOutput() {
  let isEnding = false;
  let attempts = 0;
  let failures = 0;
  const output = pino.destination({
    dest: openPipe() ?? 1,
    sync: true,
    minLength: WRITTEN_TOGETHER - 1,
    maxWrite: WRITTEN_TOGETHER,
    maxLength: MOST_WAITING,
    periodicFlush: LONGEST_WAIT_MS,
    retryEAGAIN: () => isEnding && ++attempts <= LAST_ATTEMPTS,
  });
  // The own listener of pino gives the log up for good when a reader ends.
  output.removeAllListeners('error').on('error', () => failures++);
  process.on('exit', () => {
    isEnding = true;
    const before = failures;
    output.flush();
    // It waits without end for space on a full disk, which the line before has noticed.
    if (failures === before) output.flushSync();
  });
  return output;
}

/**
 * Opens a pipe that is standard output once more, for writes that fail when it is full instead of waiting. The mode of standard output
 * itself is shared with other processes, and libuv changes it whenever one of them starts or ends. Null: it is no pipe, or may not be
 * opened again, as after a change of the user.
 */
function openPipe(): number | null {
  if (!fstatSync(1).isFIFO()) return null;
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}

/** Time, level, context, message, and the other members. */
function textOfLine(line: string): string {
  const { level = '', time = '', msg, context, ...fields } = JSON.parse(line) as Record<string, string>;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const place = context === undefined ? '' : ` [${context}]`;
  const details = Object.entries(fields).map(([field, value]) => ` ${field}=${value}`);
  return `${clock} ${level.toUpperCase().padEnd(5)}${place} ${msg}${details.join('')}\n`;
}

/** What Nest says of a start appears only with `debug`. It reports a failed one before it throws, and the caller does in one line. */
const OF_NEST =
  /^(NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication|GraphQLModule|ExceptionHandler|TypeOrmModule)$/;

/** Writes all messages of Nest and of the loggers of this service as lines of the log. */
export class NestLog extends ConsoleLogger {
  constructor(private readonly lines: pino.Logger) {
    super({ structuredParams: false });
  }

  /** @param stream default: standard output */
  static of(config: LogConfig, stream?: LogStream): NestLog {
    return new NestLog(createLog(config, stream));
  }

  override isLevelEnabled(level: LogLevel): boolean {
    return this.lines.isLevelEnabled(LEVELS[level]);
  }

  protected override printMessages(
    messages: unknown[],
    context?: string,
    level: LogLevel = 'log',
    _stream?: 'stdout' | 'stderr',
    stack?: unknown,
  ): void {
    const isUnimportant = level !== 'warn' && OF_NEST.test(context ?? '');
    const texts = [...messages, stack].map(textOf).filter((each) => each !== '');
    this.lines[isUnimportant ? 'debug' : LEVELS[level]]({ context }, texts.join('\n'));
  }

  /** It is a part of the line. */
  protected override printStackTrace(): void {
    return;
  }
}

/** Only the stack, because libraries store statements, values and headers in other properties of errors. */
function textOf(message: unknown): string {
  if (typeof message === 'string') return message;
  if (isNativeError(message)) return message.stack ?? message.message;
  return message === undefined ? '' : JSON.stringify(message);
}
