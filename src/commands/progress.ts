import { clearLine, cursorTo } from 'node:readline';
import type { WriteStream } from 'node:tty';
import { Pace } from '../common/pace.js';
import type { Progress, Step } from '../mirror/read.js';

/** Milliseconds between two lines where nothing can be redrawn. */
const LINE_INTERVAL = 3000;
/** Characters of the bar. */
const BAR = 24;

/** Where progress goes: standard error, a terminal or not. */
export type ProgressStream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

/** Shows how far a run has come; nothing of it stays on a terminal. */
export interface ProgressDisplay {
  readonly show: Progress;
  end(): void;
}

/**
 * On a terminal one line that is redrawn in place, elsewhere a line now and then, and none for a short run.
 * @param total entries that there were last time; null: not known
 * @param pace of the lines
 */
export function displayProgress(
  stream: ProgressStream,
  total: number | null,
  pace = new Pace(LINE_INTERVAL),
): ProgressDisplay {
  return stream.isTTY === true ? redrawn(stream, total) : lineByLine(stream, pace);
}

function redrawn(stream: ProgressStream, total: number | null): ProgressDisplay {
  const wipe = () => {
    cursorTo(stream, 0);
    clearLine(stream, 0);
  };
  return {
    show: (step) => {
      wipe();
      // A line that is longer than the terminal is wide could not be wiped.
      stream.write([...describeStep(step, total)].slice(0, (stream.columns || 80) - 1).join(''));
    },
    end: wipe,
  };
}

function lineByLine(stream: ProgressStream, pace: Pace): ProgressDisplay {
  let isLong = false;
  return {
    show: (step) => {
      const isToBeTold = step.stage === 'read' ? pace.isDue() : isLong;
      if (!isToBeTold) return;
      isLong = true;
      stream.write(`${describeStep(step, null)}\n`);
    },
    end: () => undefined,
  };
}

/** How far a run has come, in one line (pure). */
export function describeStep(step: Step, total: number | null): string {
  switch (step.stage) {
    case 'read': {
      const read = `${step.entries.toLocaleString('en')} entries read`;
      if (total === null || total === 0) return read;
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
