import { clearLine, cursorTo } from 'node:readline';
import type { ProgressStep } from '../mirror/synchronizer.js';

const BAR = 24;
/** Milliseconds after which a command shows its progress. */
const SHOW_AFTER_MS = 2000;

/** Shows the present activity, in place of the previous one. */
export type Show = (text: string) => void;

/**
 * Shows what takes longer than two seconds as one line of standard error, which is redrawn in place and finally erased. Shows
 * nothing without a terminal, or with --json.
 */
export async function withProgress<Result>(work: (show: Show) => Promise<Result>): Promise<Result> {
  const stream = process.stderr;
  if (!stream.isTTY || process.argv.includes('--json')) return work(() => undefined);
  let line = '';
  let isDue = false;
  const wipe = () => {
    cursorTo(stream, 0);
    clearLine(stream, 0);
  };
  const show = (text: string) => {
    line = text;
    if (!isDue) return;
    wipe();
    // A line that is wider than the terminal could not be erased.
    stream.write([...line].slice(0, (stream.columns || 80) - 1).join(''));
  };
  const timer = setTimeout(() => {
    isDue = true;
    show(line);
  }, SHOW_AFTER_MS);
  return work(show).finally(() => {
    clearTimeout(timer);
    if (isDue) wipe();
  });
}

/** The number of entries that were read, in words (pure). */
export function entriesRead(entries: number): string {
  return `${entries.toLocaleString('en')} entries read`;
}

/**
 * Formats the progress of a synchronization run as one line (pure).
 * @param total number of entries of the previous run; 0: not known
 */
export function describeStep(step: ProgressStep, total: number): string {
  switch (step.stage) {
    case 'read': {
      const read = entriesRead(step.entries);
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
