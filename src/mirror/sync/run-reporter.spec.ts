import { Logger } from '@nestjs/common';
import type { Progress } from './read-entries.js';
import { RunReporter } from './run-reporter.js';

describe('the log of a synchronization', () => {
  let now: number;
  let reported: unknown[];

  beforeEach(() => {
    now = 0;
    reported = [];
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    jest.spyOn(Logger.prototype, 'log').mockImplementation((message) => reported.push(message));
  });

  afterEach(() => jest.restoreAllMocks());

  /** Runs with a reading speed of the given number of milliseconds for a thousand entries. */
  async function run(milliseconds: number): Promise<void> {
    await new RunReporter(() => Promise.resolve(null)).reportRun((progress: Progress) => {
      for (let entries = 1000; entries <= 5000; entries += 1000) {
        now += milliseconds;
        progress({ stage: 'read', entries });
      }
      progress({ stage: 'plan' });
      progress({ stage: 'apply' });
      return Promise.resolve({ kind: 'unchanged' });
    });
  }

  it('contains the progress every two seconds', async () => {
    await run(1000);
    expect(reported).toEqual([
      '2000 entries read',
      '4000 entries read',
      'All entries are read. Comparing',
      'Writing the changes',
    ]);
  });

  it('is empty for a short one', async () => {
    await run(300);
    expect(reported).toEqual([]);
  });
});
