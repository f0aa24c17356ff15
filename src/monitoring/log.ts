import { pino } from 'pino';
import type { Config } from '../config/config.js';
import { isNativeError } from 'node:util/types';
import type { LoggerService } from '@nestjs/common';
import { BufferedOutput, type LogStream } from './buffered-output.js';
import { TextStream } from './text-stream.js';

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
  /** Writes a line that is already JSON, with its line feed. */
  write(line: string): void;
  flush(): void;
}

type LogConfig = Pick<Config, 'logLevel' | 'monitoring'>;

/** @param stream default: standard output */
export function createLog(
  { logLevel, monitoring }: LogConfig,
  stream: LogStream = standardOutput(),
  isTerminal = process.stdout.isTTY,
): Log {
  const output = isTextLog({ monitoring }, isTerminal)
    ? new TextStream(stream, isTerminal, isTerminal && process.stdout.isTTY && process.stdout.hasColors())
    : stream;
  const lines = pino(
    {
      level: LEVELS[logLevel],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    output,
  );
  return { lines, write: (line) => output.write(line), flush: () => stream.flush?.() };
}

/** Whether the log is for people, and not for programs that keep it. */
export function isTextLog(
  { monitoring }: Pick<LogConfig, 'monitoring'>,
  isTerminal = process.stdout.isTTY,
): boolean {
  return (monitoring.logFormat ?? (isTerminal ? 'text' : 'json')) === 'text';
}

let shared: LogStream | null = null;

/** One stream per process. */
function standardOutput(): LogStream {
  shared ??= new BufferedOutput();
  return shared;
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
