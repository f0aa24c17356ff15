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

/** Bytes of unwritten lines. Further lines are lost, and the service continues. */
const MOST_WAITING = 4_000_000;
/** Milliseconds that a line waits for others. */
const LONGEST_WAIT_MS = 200;
/** Bytes that a pipe takes without those of other processes between them (PIPE_BUF of Linux): several of a service write to one output. */
const WRITTEN_TOGETHER = 4096;

type LogConfig = Pick<Config, 'logLevel' | 'monitoring'>;

/** Output of a log. */
interface LogStream {
  write(line: string): unknown;
}

let shared: LogStream | null = null;

/** The stream of the process. A line that cannot be written stops neither the process nor requests. */
function standardOutput(): LogStream {
  if (shared !== null) return shared;
  const output = pino.destination({
    sync: false,
    minLength: WRITTEN_TOGETHER - 1,
    maxWrite: WRITTEN_TOGETHER,
    maxLength: MOST_WAITING,
    periodicFlush: LONGEST_WAIT_MS,
  });
  output.on('error', () => {
    // At the end of the process, it would wait for space on a full disk.
    output.flushSync = () => undefined;
  });
  return (shared = output);
}

/** @param stream default: standard output */
export function createLog(config: LogConfig, stream = standardOutput()): pino.Logger {
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
