import { constants, fstatSync, openSync } from 'node:fs';
import { styleText } from 'node:util';
import { isNativeError } from 'node:util/types';
import type { LoggerService } from '@nestjs/common';
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
} as const satisfies Record<Config['logLevel'], pino.Level>;

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
export function createLog(
  { logLevel, monitoring }: LogConfig,
  stream = STANDARD_OUTPUT,
  isTerminal = process.stdout.isTTY,
): pino.Logger {
  const format = new TextFormat(isTerminal, isTerminal && process.stdout.isTTY && process.stdout.hasColors());
  const output = isTextLog({ monitoring }, isTerminal)
    ? { write: (line: string) => stream.write(format.lineOf(JSON.parse(line) as Line)) }
    : stream;
  return pino(
    {
      level: LEVELS[logLevel],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    output,
  );
}

/** Whether the log is for people, and not for programs that keep it. */
export function isTextLog(
  { monitoring }: Pick<LogConfig, 'monitoring'>,
  isTerminal = process.stdout.isTTY,
): boolean {
  return (monitoring.logFormat ?? (isTerminal ? 'text' : 'json')) === 'text';
}

/**
 * Opens standard output for lines. A line that cannot be written stays in the buffer of pino, and is written with a later one: the
 * process neither fails nor waits because of it, except for a moment at its end.
 */
export function openOutput() {
  let isEnding = false;
  let attempts = 0;
  let failures = 0;
  let hasReported = false;
  // Once, because standard error may have no reader either.
  const report = (reason: string) => {
    if (!hasReported)
      console.error(`The log cannot be written: ${reason}. Lines beyond ${MOST_WAITING / 1e6} MB are lost.`);
    hasReported = true;
  };
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
  output.removeAllListeners('error').on('error', (error: NodeJS.ErrnoException) => {
    failures++;
    if (error.code !== 'EAGAIN') report(error.message);
  });
  output.on('write', (bytes: number) => {
    if (bytes > 0) attempts = 0;
  });
  output.on('drop', () => {
    report('its reader is too slow');
  });
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

/** A line of the log in the format of pino. */
interface Line {
  readonly level: string;
  /** RFC 3339. */
  readonly time: string;
  readonly msg: string;
  readonly context?: string;
  readonly [field: string]: unknown;
}

type Color = Parameters<typeof styleText>[0];

const COLORS: Partial<Record<string, Color>> = {
  fatal: ['bold', 'red'],
  error: 'red',
  warn: 'yellow',
  info: 'green',
};

/** Readable lines: time, level, context, message, and the other members. */
export class TextFormat {
  /** @param isShort whether lines of requests have only what fits into a terminal */
  constructor(
    private readonly isShort: boolean,
    private readonly hasColors: boolean,
  ) {}

  lineOf({ level, time, msg, context, ...fields }: Line): string {
    const date = new Date(time);
    const clock = `${date.toTimeString().slice(0, 8)}.${time.slice(20, 23)}`;
    const start = this.paint('gray', clock);
    if (this.isShort && 'route' in fields) {
      const { status, milliseconds, route, operation } = fields;
      const color = Number(status) >= 500 ? 'red' : Number(status) >= 400 ? 'yellow' : 'green';
      const duration = `${Number(milliseconds).toFixed(1)} ms`.padStart(10);
      const name = typeof operation === 'string' ? ` ${operation}` : '';
      return `${start} ${this.paint(color, String(status))} ${duration} ${String(route)}${name}\n`;
    }
    const shown = this.paint(COLORS[level] ?? 'gray', level.toUpperCase().padEnd(5));
    const place = context === undefined ? '' : `${this.paint('cyan', `[${context}]`)} `;
    const details = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`);
    return `${start} ${shown} ${place}${msg}${details.join('')}\n`;
  }

  private paint(color: Color, text: string): string {
    return this.hasColors ? styleText(color, text, { validateStream: false }) : text;
  }
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
  constructor(private readonly lines: pino.Logger) {}

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
    if (!this.lines.isLevelEnabled(level)) return;
    const context = contextOf(rest);
    const more = (context === undefined ? rest : rest.slice(0, -1)).filter((each) => each !== undefined);
    const text = [message, ...more].map(textOf).filter((each) => each !== '');
    this.lines[level]({ context }, text.join('\n'));
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
