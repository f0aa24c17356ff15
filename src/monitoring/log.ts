import { styleText } from 'node:util';
import { pino } from 'pino';
import type { Config } from '../config/config.js';
import { isNativeError } from 'node:util/types';
import type { LoggerService } from '@nestjs/common';

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

/** Output of a log. */
export interface LogStream {
  write(line: string): unknown;
  /** Writes the buffered lines. */
  flush?(): void;
}

/** A line of the log in the format of pino. */
interface Line {
  readonly level: string;
  /** RFC 3339. */
  readonly time: string;
  readonly msg: string;
  readonly context?: string;
  readonly [field: string]: unknown;
}

const COLORS: Partial<Record<string, Parameters<typeof styleText>[0]>> = {
  fatal: ['bold', 'red'],
  error: 'red',
  warn: 'yellow',
  debug: 'gray',
  trace: 'gray',
};

/** Converts lines of JSON to readable text: time, level, context, message, and the other members. */
export class TextStream implements LogStream {
  constructor(
    private readonly stream: LogStream,
    private readonly hasColors: boolean,
  ) {}

  write(line: string): void {
    this.stream.write(this.format(JSON.parse(line) as Line));
  }

  private format({ level, time, msg, context, ...fields }: Line): string {
    const word = level.toUpperCase().padEnd(5);
    const color = this.hasColors ? COLORS[level] : undefined;
    const shown = color === undefined ? word : styleText(color, word);
    const details = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`);
    const place = context === undefined ? '' : `[${context}] `;
    return `${clockTimeOf(time)} ${shown} ${place}${msg}${details.join('')}\n`;
  }
}

/** Returns the local time of day, with milliseconds. */
function clockTimeOf(time: string): string {
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Start-up messages of Nest are not relevant for an operator and appear only with `debug`. */
const STARTUP_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
  'GraphQLModule',
]);

/** Contexts in which Nest reports a failed start before it throws. The caller reports it in one line instead. */
const FAILURE_CONTEXTS = new Set(['ExceptionHandler', 'NestApplication', 'TypeOrmModule']);

/** Writes all messages of Nest and of the loggers of this service as lines of the log. */
export class NestLog implements LoggerService {
  /** @param output the log of the process, for lines of other formats */
  constructor(readonly output: Log) {}

  /** @param stream default: standard output */
  static of(config: LogConfig, stream?: LogStream): NestLog {
    return new NestLog(createLog(config, stream));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write(FAILURE_CONTEXTS.has(contextOf(rest) ?? '') ? 'debug' : 'error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(STARTUP_CONTEXTS.has(contextOf(rest) ?? '') ? 'debug' : 'info', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  /**
   * @param rest arguments from Nest: optionally a stack or further messages, and the context as the last one
   */
  private write(level: pino.Level, message: unknown, rest: readonly unknown[]): void {
    const { lines } = this.output;
    if (!lines.isLevelEnabled(level)) return;
    const context = contextOf(rest);
    const more = (context === undefined ? rest : rest.slice(0, -1)).filter((each) => each !== undefined);
    const text = [message, ...more].map(textOf).filter((each) => each !== '');
    lines[level](context === undefined ? {} : { context }, text.join('\n'));
    this.output.flush();
  }
}

function contextOf(rest: readonly unknown[]): string | undefined {
  const last = rest.at(-1);
  return typeof last === 'string' && !last.includes('\n') ? last : undefined;
}

/** Only the stack, because libraries store statements, values and headers in other properties of errors. */
function textOf(message: unknown): string {
  if (typeof message === 'string') return message;
  if (isNativeError(message)) return message.stack ?? message.message;
  return message === undefined ? '' : JSON.stringify(message);
}
