import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../../src/config/config.js';
import { spawnBound } from '../spawn-bound.mjs';

/** Milliseconds after which any process of a test is killed. It is not an assertion. */
const LONGEST_LIFE = 600_000;

/** A process of the built product, whose output is recorded. */
export class TestProcess {
  stdout = '';
  stderr = '';
  /** Both, in the order in which they arrived. */
  output = '';
  private readonly ended: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.output += text;
      });
    this.ended = once(child, 'close');
  }

  /**
   * @param environment the whole environment: nothing is inherited
   * @param isWatched whether it answers `ask`
   */
  static start(
    file: 'cli' | 'main',
    args: readonly string[],
    environment: Environment,
    isWatched = false,
    node = process.execPath,
  ): TestProcess {
    const { PATH, TMPDIR, COVERAGE_DIRECTORY } = process.env;
    const program =
      COVERAGE_DIRECTORY === undefined
        ? [`dist/bundled/${file}.js`]
        : ['--import', './test/support/coverage.mjs', `dist/${file}.js`];
    const watch = isWatched ? ['--import', './test/support/watch-main.mjs'] : [];
    const child = spawnBound(node, [...watch, ...program, ...args], {
      env: {
        PATH,
        TMPDIR,
        COVERAGE_DIRECTORY,
        NO_COLOR: '1',
        LOG_FORMAT: 'text',
        LOG_REQUESTS: 'false',
        WORKERS: '1',
        // Not that of the checkout.
        ENV_FILE: '/dev/null',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe', ...(isWatched ? (['ipc'] as const) : [])],
      timeout: LONGEST_LIFE,
      killSignal: 'SIGKILL',
    });
    return new TestProcess(child);
  }

  get id(): number {
    return this.child.pid ?? 0;
  }

  /** The exit code, or null after a signal. */
  get code(): number | null {
    return this.child.exitCode;
  }

  get signal(): string | null {
    return this.child.signalCode;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The ids of the processes that it has started: proc(5). */
  get children(): number[] {
    const { id } = this;
    const text = readFileSync(`/proc/${id}/task/${id}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  }

  /** Pauses it and its children (SIGSTOP) until `resume`. */
  freeze(): void {
    for (const id of [this.id, ...this.children]) process.kill(id, 'SIGSTOP');
  }

  resume(): void {
    for (const id of [this.id, ...this.children]) process.kill(id, 'SIGCONT');
  }

  /** Has a watched process act: watch-main.mjs. */
  async ask<Answer>(action: string, details?: object): Promise<Answer | undefined> {
    const answered = Promise.race([once(this.child, 'message') as Promise<[Answer]>, this.ended]);
    this.child.send({ action, details });
    const answer = await answered;
    return this.hasEnded ? undefined : (answer as [Answer])[0];
  }

  /** Waits until the process has ended and all its output has arrived. */
  async end(): Promise<this> {
    await this.ended;
    return this;
  }

  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<this> {
    this.child.kill(signal);
    return this.end();
  }

  /** Waits for a text in the output, and fails if the process ends before. */
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

/** Runs a command of the product until it ends. */
export function runCommand(args: readonly string[], environment: Environment): Promise<TestProcess> {
  return TestProcess.start('cli', args, environment).end();
}
