import { mkdirSync, writeFileSync } from 'node:fs';

/** Tests that take longer are listed, so that slow ones are noticed, and testTimeout can be compared with them. */
const LONG_MS = 20_000;

/**
 * Writes the totals of a run to the place where .ci/run reads them, and its longest tests. A file that could not run counts as
 * one failure.
 */
export default class TotalsReporter {
  #long = [];

  onTestResult({ context }, { testResults }) {
    for (const { fullName, duration } of testResults)
      if (duration > LONG_MS) this.#long.push([duration, `${context.config.displayName?.name}: ${fullName}`]);
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    mkdirSync('.tmp', { recursive: true });
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    writeFileSync('.tmp/test-totals', `${numPassedTests} passed, ${failed} failed\n`);
    const lines = this.#long
      .sort(([left], [right]) => right - left)
      .map(([duration, name]) => `${Math.round(duration / 1000)} s  ${name}\n`);
    writeFileSync('.tmp/longest-tests', lines.join(''));
  }
}
