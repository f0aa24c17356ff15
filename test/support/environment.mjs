import { setInterval } from 'node:timers';
import { TestEnvironment } from 'jest-environment-node';
import { ports } from './ports.mjs';

/** Milliseconds between two looks at whether the process that runs the tests is there. */
const LOOK = 200;

// A worker whose runner was killed would go on with its test file. A listener for 'disconnect' would keep the worker from
// ending at all.
if (process.connected) {
  setInterval(() => {
    if (!process.connected) process.kill(process.pid, 'SIGKILL');
  }, LOOK).unref();
}

/** The environment of test files: see ports.mjs. */
export class Environment extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.testPorts = ports;
  }
}

export default Environment;
