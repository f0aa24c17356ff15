import { styleText } from 'node:util';
import type { LogStream } from './buffered-output.js';

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
  info: 'green',
  debug: 'gray',
  trace: 'gray',
};

/** Converts lines of JSON to readable text: time, level, context, message, and the other members. */
export class TextStream implements LogStream {
  /** @param isShort whether lines of requests have only what fits into a terminal */
  constructor(
    private readonly stream: LogStream,
    private readonly isShort: boolean,
    private readonly hasColors: boolean,
  ) {}

  write(line: string): void {
    this.stream.write(this.format(JSON.parse(line) as Line));
  }

  private format({ level, time, msg, context, ...fields }: Line): string {
    const start = this.paint('gray', clockTimeOf(time));
    if (this.isShort && 'route' in fields) return `${start} ${this.formatRequest(fields)}\n`;
    const shown = this.paint(COLORS[level], level.toUpperCase().padEnd(5));
    const details = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`);
    const place = context === undefined ? '' : `${this.paint('cyan', `[${context}]`)} `;
    return `${start} ${shown} ${place}${msg}${details.join('')}\n`;
  }

  private formatRequest({
    status,
    milliseconds,
    route,
    operation,
  }: Omit<Line, 'level' | 'time' | 'msg'>): string {
    const color = Number(status) >= 500 ? 'red' : Number(status) >= 400 ? 'yellow' : 'green';
    const duration = `${Number(milliseconds).toFixed(1)} ms`.padStart(10);
    const name = typeof operation === 'string' ? ` ${operation}` : '';
    return `${this.paint(color, String(status))} ${duration} ${String(route)}${name}`;
  }

  private paint(color: (typeof COLORS)[string], text: string): string {
    return color === undefined || !this.hasColors ? text : styleText(color, text, { validateStream: false });
  }
}

/** Returns the local time of day, with milliseconds. */
function clockTimeOf(time: string): string {
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
