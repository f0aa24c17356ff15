import { PassThrough } from 'node:stream';
import { describeStep, type ProgressStream, withProgress } from './progress.js';

const WIPE = '\u001b[1G\u001b[2K';

function terminal(columns = 120): ProgressStream & PassThrough {
  return Object.assign(new PassThrough(), { isTTY: true, columns });
}

function output(stream: PassThrough): string {
  return String((stream.read() as Buffer | null) ?? '');
}

describe('progress', () => {
  it('is one line on a terminal, which is redrawn, and erased at the end', async () => {
    const stream = terminal();
    const answer = await withProgress(
      (show) => {
        show('Reading');
        expect(output(stream)).toBe(`${WIPE}Reading`);
        show('Writing');
        return Promise.resolve('done');
      },
      stream,
      false,
    );
    expect([answer, output(stream)]).toEqual(['done', `${WIPE}Writing${WIPE}`]);
  });

  it('is erased when the work fails', async () => {
    const stream = terminal();
    await expect(withProgress(() => Promise.reject(new Error('broken')), stream, false)).rejects.toThrow();
    expect(output(stream)).toBe(WIPE);
  });

  it('is never wider than the terminal', async () => {
    const stream = terminal(10);
    await withProgress(
      (show) => {
        show('12,000 entries read');
        return Promise.resolve();
      },
      stream,
      false,
    );
    expect(output(stream)).toBe(`${WIPE}12,000 en${WIPE}`);
  });

  it.each<[where: string, stream: PassThrough, asJson: boolean]>([
    ['there is no terminal', new PassThrough(), false],
    ['the output is JSON', terminal(), true],
  ])('is not shown if %s', async (_, stream, asJson) => {
    await withProgress(
      (show) => {
        show('Reading');
        return Promise.resolve();
      },
      stream,
      asJson,
    );
    expect(output(stream)).toBe('');
  });

  it('of a synchronization shows the number of read entries and that of the last synchronization', () => {
    const read = (entries: number) => ({ stage: 'read', entries }) as const;
    expect(describeStep(read(12_000), 0)).toBe('12,000 entries read');
    const bar = (filled: number) => '█'.repeat(filled) + '░'.repeat(24 - filled);
    expect(describeStep(read(1000), 4000)).toBe(`${bar(6)} 1,000 entries read, of about 4,000`);
    expect(describeStep(read(5000), 4000)).toBe(`${bar(24)} 5,000 entries read, of about 4,000`);
    expect(describeStep({ stage: 'compare' }, 4000)).toBe('All entries are read. Comparing');
  });
});
