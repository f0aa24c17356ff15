import { clearLine, cursorTo } from 'node:readline';
import type { WriteStream } from 'node:tty';
import type { ProgressStep } from '../mirror/synchronizer.js';

const BAR = 24;
/** Milliseconds after which a command shows its progress. */
const SHOW_AFTER_MS = 2000;

/** Output of progress: standard error, which may be a terminal. */
export type ProgressStream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

/** Shows the present activity, in place of the previous one. */
export type Show = (text: string) => void;

/** Shows one line that is redrawn in place and finally erased. Shows nothing without a terminal, or with --json. */
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
    // A line that is wider than the terminal could not be erased.
    stream.write([...text].slice(0, (stream.columns || 80) - 1).join(''));
  };
  return work(show).finally(wipe);
}

/** As withProgress, but shows the text only if the work takes long. */
export function withLateProgress<Result>(text: string, work: () => Promise<Result>): Promise<Result> {
  return withProgress(async (show) => {
    const timer = setTimeout(show, SHOW_AFTER_MS, text);
    return work().finally(() => {
      clearTimeout(timer);
    });
  });
}

/**
 * Formats the progress of a synchronization run as one line (pure).
 * @param total number of entries of the previous run; 0: not known
 */
export function describeStep(step: ProgressStep, total: number): string {
  switch (step.stage) {
    case 'read': {
      const read = `${step.entries.toLocaleString('en')} entries read`;
      if (total === 0) return read;
      const filled = Math.min(BAR, Math.round((step.entries / total) * BAR));
      const bar = '█'.repeat(filled) + '░'.repeat(BAR - filled);
      return `${bar} ${read}, of about ${total.toLocaleString('en')}`;
    }
    case 'compare':
      return 'All entries are read. Comparing';
    case 'write':
      return 'Writing the changes';
  }
}
