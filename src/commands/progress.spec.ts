import { PassThrough } from 'node:stream';
import { Pace } from '../common/pace.js';
import { displayProgress, type ProgressStream } from './progress.js';

const WIPE = '\u001b[1G\u001b[2K';
const read = (entries: number) => ({ stage: 'read', entries }) as const;

function output(stream: ProgressStream & PassThrough): string {
  return String((stream.read() as Buffer | null) ?? '');
}

describe('the progress of a run', () => {
  it('is one line on a terminal, which is drawn anew and wiped at the end', () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
    const progress = displayProgress(stream, 4000);
    progress.show(read(1000));
    expect(output(stream)).toBe(
      `${WIPE}${'█'.repeat(6)}${'░'.repeat(18)} 1,000 entries read, of about 4,000`,
    );
    progress.show(read(5000));
    expect(output(stream)).toBe(`${WIPE}${'█'.repeat(24)} 5,000 entries read, of about 4,000`);
    progress.show({ stage: 'plan' });
    progress.end();
    expect(output(stream)).toBe(`${WIPE}All is read, comparing${WIPE}`);
  });

  it('is never wider than the terminal', () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 10 });
    displayProgress(stream, null).show(read(12_000));
    expect(output(stream)).toBe(`${WIPE}12,000 en`);
  });

  it('is a line now and then elsewhere, and none for a short run', () => {
    const stream = new PassThrough();
    let now = 0;
    const progress = displayProgress(stream, 4000, new Pace(3000, () => now));
    progress.show({ stage: 'plan' });
    for (; now < 7000; now += 500) progress.show(read(now));
    progress.show({ stage: 'apply' });
    progress.end();
    expect(output(stream)).toBe('3,000 entries read\n6,000 entries read\nWriting what has changed\n');
  });
});
