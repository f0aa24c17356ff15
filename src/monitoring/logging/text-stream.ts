import { styleText } from 'node:util';

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
