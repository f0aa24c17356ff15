import { setInterval } from 'node:timers';
import { TestEnvironment } from 'jest-environment-node';
import { writeCoverage } from './coverage.mjs';
import { ports } from './ports.mjs';
import { loadEarly, shareModules } from './shared-modules.mjs';

/** Milliseconds between two checks whether the runner still exists. */
const INTERVAL_MS = 200;

// A worker whose runner was killed would continue with its test file. A listener for 'disconnect' would keep the worker from
// ending.
if (process.connected) {
  setInterval(() => {
    if (!process.connected) process.kill(process.pid, 'SIGKILL');
  }, INTERVAL_MS).unref();
}

/**
 * The environment of a suite. The suite shares the modules of its worker, unless its first comment contains `@isolated`: suites
 * that change the state of modules, or fake the clock, evaluate modules of their own.
 */
export class Environment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global.testPorts = ports;
    this.isShared = !('isolated' in context.docblockPragmas);
    if (this.isShared) shareModules(this.global);
  }

  async setup() {
    await super.setup();
    if (this.isShared) await loadEarly();
  }

  async teardown() {
    this.moduleMocker?.restoreAllMocks();
    writeCoverage();
    await super.teardown();
  }
}

export default Environment;
