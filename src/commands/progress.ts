import { clearLine, cursorTo } from 'node:readline';
import type { WriteStream } from 'node:tty';
import type { Step } from '../mirror/map/read.js';

/** Characters of the bar. */
const BAR = 24;
/** Milliseconds after which somebody wonders whether anything happens. */
const PATIENCE = 2000;

/** Where progress goes: standard error, a terminal or not. */
export type ProgressStream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

/** Says what is being done, in place of what was said before. */
export type Show = (text: string) => void;

/**
 * Says on a terminal what is being done for as long as `work` takes: one line that is redrawn in place, of which nothing stays.
 * Programs are told nothing: where standard error is no terminal, and where the answer is to be JSON.
 */
export async function withProgress<Result>(
  work: (show: Show) => Promise<Result>,
  stream: ProgressStream = process.stderr,
  asJson = process.argv.includes('--json'),
): Promise<Result> {
  if (stream.isTTY !== true || asJson) return work(() => undefined);
  const wipe = () => {
    cursorTo(stream, 0);
    clearLine(stream, 0);
  };
  const show = (text: string) => {
    wipe();
    // A line that is longer than the terminal is wide could not be wiped.
    stream.write([...text].slice(0, (stream.columns || 80) - 1).join(''));
  };
  return work(show).finally(wipe);
}

/** As above, of work that mostly is done before it is worth a word. */
export function withLateProgress<Result>(text: string, work: () => Promise<Result>): Promise<Result> {
  return withProgress(async (show) => {
    const timer = setTimeout(show, PATIENCE, text);
    return work().finally(() => {
      clearTimeout(timer);
    });
  });
}

/**
 * How far a run has come, in one line (pure).
 * @param total entries that there were last time; 0: not known
 */
export function describeStep(step: Step, total: number): string {
  switch (step.stage) {
    case 'read': {
      const read = `${step.entries.toLocaleString('en')} entries read`;
      if (total === 0) return read;
      const filled = Math.min(BAR, Math.round((step.entries / total) * BAR));
      const bar = '█'.repeat(filled) + '░'.repeat(BAR - filled);
      return `${bar} ${read}, of about ${total.toLocaleString('en')}`;
    }
    case 'plan':
      return 'All is read, comparing';
    case 'apply':
      return 'Writing what has changed';
  }
}
