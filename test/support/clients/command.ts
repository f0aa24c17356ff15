import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../../src/config/config.js';
import { spawnBound } from '../spawn-bound.mjs';

/** Milliseconds: no process of a test lives longer. It is no bound on what a process does. */
const LONGEST_LIFE = 600_000;

/** A process of the product, as it was built: what it prints is kept. */
export class TestProcess {
  stdout = '';
  stderr = '';
  private readonly ended: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.ended = once(child, 'close');
  }

  /** @param environment all that the process knows of settings: nothing is inherited */
  static start(file: 'cli' | 'main', args: readonly string[], environment: Environment): TestProcess {
    const child = spawnBound(process.execPath, [`dist/${file}.js`, ...args], {
      env: {
        PATH: process.env.PATH,
        TMPDIR: process.env.TMPDIR,
        NO_COLOR: '1',
        LOG_FORMAT: 'text',
        LOG_REQUESTS: 'false',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_LIFE,
      killSignal: 'SIGKILL',
    });
    return new TestProcess(child);
  }

  get id(): number {
    return this.child.pid ?? 0;
  }

  /** The exit code; null when a signal ended it. */
  get code(): number | null {
    return this.child.exitCode;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Waits until it has ended and everything that it printed has arrived. */
  async end(): Promise<this> {
    await this.ended;
    return this;
  }

  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<this> {
    this.child.kill(signal);
    return this.end();
  }

  /** Waits until it has printed this, and fails when it ends before. */
  async untilPrinted(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.stdout)) {
      if (this.hasEnded) {
        await this.end();
        throw new Error(`It ended with ${this.code ?? 'a signal'}: ${this.stdout}${this.stderr}`);
      }
      await sleep(20);
    }
  }
}

/** Runs a command of the product to its end. */
export function runCommand(args: readonly string[], environment: Environment): Promise<TestProcess> {
  return TestProcess.start('cli', args, environment).end();
}
