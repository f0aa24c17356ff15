import { setInterval } from 'node:timers';
import { TestEnvironment } from 'jest-environment-node';
import { ports } from './ports.mjs';
import { shareModules } from './shared-modules.mjs';

/** Milliseconds between two looks at whether the process that runs the tests is there. */
const LOOK = 200;

// A worker whose runner was killed would go on with its test file. A listener for 'disconnect' would keep the worker from
// ending at all.
if (process.connected) {
  setInterval(() => {
    if (!process.connected) process.kill(process.pid, 'SIGKILL');
  }, LOOK).unref();
}

/**
 * The environment of a suite. It shares the modules of its worker, unless its first comment has `@isolated`: a suite that
 * changes what modules declare, or fakes the clock, evaluates modules of its own.
 */
export class Environment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global.testPorts = ports;
    if (!('isolated' in context.docblockPragmas)) shareModules(this.global);
  }

  async teardown() {
    this.moduleMocker?.restoreAllMocks();
    await super.teardown();
  }
}

export default Environment;
