// Processes of a run: they end with it, also after an error or Ctrl-C. And what the kernel knows of them (proc(5)).
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spawnBound } from '../test/support/spawn-bound.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A service that ends stops its embedded database, which may write for a while. */
const STOP_TIMEOUT_MS = 60_000;
/** Characters of the output of a process that are kept for error messages. */
const MAX_LOG_LENGTH = 20_000;
/** Unit of the kernel's counters of processor time in milliseconds (USER_HZ is 100). */
const TICK = 10;

/** Thrown on Ctrl-C, which prints no stack trace. */
class Interruption extends Error {}

/** What is undone when the work ends, fails or is interrupted: the last one first. */
class Resources {
  #stops = [];
  #ending = null;

  /** Registers a function that runs at the end; immediately if the end has come. */
  defer(stop) {
    if (this.#ending !== null) return stop();
    this.#stops.push(stop);
  }

  /** Runs work with resources of its own, which end after it. */
  async within(work) {
    const own = new Resources();
    this.defer(() => own.end());
    try {
      return await work(own);
    } finally {
      await own.end();
    }
  }

  end() {
    this.#ending ??= this.#endAll();
    return this.#ending;
  }

  async #endAll() {
    for (const stop of this.#stops.reverse()) {
      try {
        await stop();
      } catch (error) {
        console.error(`Not stopped: ${error.message}`);
      }
    }
  }
}

/** Runs the work of a command, and ends the process: after a signal, interrupted work may keep it alive. */
export async function runCommand(work) {
  process.chdir(ROOT);
  const resources = new Resources();
  const interrupted = new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.on(signal, () => reject(new Interruption()));
  });
  try {
    await Promise.race([work(resources), interrupted]);
  } catch (error) {
    console.error(error instanceof Interruption ? 'Interrupted' : error);
    process.exitCode = error instanceof Interruption ? 130 : 1;
  } finally {
    await resources.end();
  }
  process.exit();
}

/** Runs one step, and prints its name and duration. */
export async function runStep(label, work) {
  const begun = performance.now();
  const result = await work();
  console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(7)} s  ${label}`);
  return result;
}

/** A directory for the files of a run, which the account of PostgreSQL can enter. The path of its socket must be short. */
export function makeWorkDirectory(resources) {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  chmodSync(directory, 0o755);
  resources.defer(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export class Child {
  log = '';

  /** @param options environment, beside the path; cwd */
  constructor(resources, program, args, { environment, cwd = ROOT }) {
    this.name = [program, ...args].join(' ');
    this.process = spawnBound(program, args, {
      cwd,
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    for (const output of [this.process.stdout, this.process.stderr])
      output.setEncoding('utf8').on('data', (text) => {
        this.log = (this.log + text).slice(-MAX_LOG_LENGTH);
      });
    resources.defer(() => this.stop());
  }

  get pid() {
    return this.process.pid;
  }

  get hasEnded() {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** Waits until a function returns true. @throws Error with its output if the process ends before, or takes too long */
  async until(isReady, timeoutMs = 60_000) {
    const latest = performance.now() + timeoutMs;
    while (!(await isReady())) {
      if (this.hasEnded) throw new Error(`${this.name} has ended:\n${this.log}`);
      if (performance.now() > latest) throw new Error(`${this.name} is not ready:\n${this.log}`);
      await sleep(20);
    }
  }

  async stop() {
    if (this.hasEnded) return;
    this.process.kill('SIGTERM');
    const late = sleep(STOP_TIMEOUT_MS, 'late', { ref: false });
    if ((await Promise.race([this.ended, late])) === 'late') this.process.kill('SIGKILL');
    await this.ended;
  }
}

/** The fields after the name, which may contain spaces: the parent is 1, user and system time 11 and 12, those of children 13 and 14. */
function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

const timeIn = (fields, from) => (Number(fields[from]) + Number(fields[from + 1])) * TICK;

/** Milliseconds of processor time of all threads. */
export function timeOf(pid) {
  return timeIn(statOf(pid), 11);
}

/** The same of a server and of its running and ended child processes. */
export function timeOfFamily(pid) {
  const own = statOf(pid);
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const times = children.map((child) => {
    try {
      const fields = statOf(child);
      return Number(fields[1]) === pid ? timeIn(fields, 11) : 0;
    } catch {
      return 0; // It has ended in the meantime.
    }
  });
  return times.reduce((sum, time) => sum + time, timeIn(own, 11) + timeIn(own, 13));
}

/** The present and the largest resident size of a process in megabytes. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { now: megabytes('VmRSS'), max: megabytes('VmHWM') };
}
