// Starts a server as a child process.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Milliseconds until a server must be ready, or must have ended, by default. */
const TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
/** Characters of its output that are kept for error messages. */
const MAX_LOG_LENGTH = 20_000;

const running = new Set();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export class Child {
  log = '';

  /**
   * Starts a Node program and waits until its output matches `ready`.
   * @param {{ node?: string, args: string[], environment: Record<string, string>, ready: RegExp, resources: Resources,
   *   timeoutMs?: number }} options
   */
  static async start({
    node = process.execPath,
    args,
    environment,
    ready,
    resources,
    timeoutMs = TIMEOUT_MS,
  }) {
    const child = new Child(node, args, environment, ready);
    resources.defer(() => child.stop());
    await child.#untilReady(timeoutMs);
    return child;
  }

  constructor(node, args, environment, ready) {
    this.isReady = false;
    this.name = args.find((argument) => !argument.startsWith('-'));
    this.node = node;
    this.process = spawn(node, args, {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...inherited(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    running.add(this.process);
    void this.ended.then(() => running.delete(this.process));
    for (const output of [this.process.stdout, this.process.stderr]) {
      output.setEncoding('utf8').on('data', (text) => this.#appendLog(text, ready));
    }
  }

  get pid() {
    return this.process.pid;
  }

  get hasEnded() {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  async stop() {
    if (this.hasEnded) return;
    this.process.kill('SIGTERM');
    const late = sleep(STOP_TIMEOUT_MS, 'late', { ref: false });
    if ((await Promise.race([this.ended, late])) === 'late') this.process.kill('SIGKILL');
    await this.ended;
  }

  #appendLog(text, ready) {
    const log = this.log + text;
    this.isReady ||= ready.test(log);
    this.log = log.slice(-MAX_LOG_LENGTH);
  }

  async #untilReady(timeoutMs) {
    const end = Date.now() + timeoutMs;
    while (!this.isReady) {
      if (this.hasEnded) throw new Error(`${this.name} ended:\n${this.log}`);
      if (Date.now() > end) throw new Error(`${this.name} is not ready:\n${this.log}`);
      await sleep(20);
    }
  }
}

/** Environment variables that servers inherit: the file of profiles. */
function inherited() {
  const { PROFILE_FILE } = process.env;
  return PROFILE_FILE === undefined ? {} : { PROFILE_FILE };
}
