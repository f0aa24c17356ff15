import { isNativeError } from 'node:util/types';
import type { LoggerService } from '@nestjs/common';
import type { pino } from 'pino';
import { createLog, type Log, type LogConfig } from './log.js';
import type { LogStream } from './text-stream.js';

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
