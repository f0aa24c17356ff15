import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { backOff } from './common/back-off.js';
import { type Config, ConfigError } from './config/config.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { EXIT_FAILED } from './failure.js';
import { countForCluster } from './limits/cluster-counts.js';
import { shareMetrics } from './monitoring/metrics/cluster.js';
import { ALIVE_MS, isInTerminal, type Notice, readUsableConfig } from './processes.js';
import { beginLog, describeStart, logShutdown } from './service-log.js';

/** Milliseconds after which a process counts as started well, so that the next pause is short again. */
const WELL_AFTER_MS = 60_000;
/** Milliseconds that a process may take to end: for requests, for the database, and for an exporter of traces that nothing answers. */
const LONGEST_END_MS = 25_000;
/** A process that leaves out so many of them hangs. One is lost when a machine was suspended. */
const MOST_UNHEARD = 3;

/** The first of several processes (docs/adr/0044). It starts those that serve requests, and replaces each that ends. */
export class Cluster {
  private readonly logger = new Logger('Service');
  private readonly ending = new AbortController();
  /** The present ones, in the order in which they are replaced. */
  private readonly workers: Worker[] = [];
  /** How many messages are missing of those that serve. */
  private readonly unheard = new Map<Worker, number>();
  private reloading: Promise<void> = Promise.resolve();
  /** Whether a reload waits for the one before it. A further request then asks for the same. */
  private isReloadRequested = false;

  constructor(private config: Config) {}

  /** Starts the first process alone, so that a failure of the start is reported once. */
  async run(): Promise<void> {
    beginLog(this.config);
    const exec = fileURLToPath(new URL('./main.js', import.meta.url));
    const args = process.argv.filter((each) => each === '--json');
    cluster.setupPrimary({ exec, args, serialization: 'advanced' });
    countForCluster();
    if (this.config.monitoring.metrics !== null) shareMetrics();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.end(signal));
    process.on('SIGHUP', () => {
      if (isInTerminal()) void this.end('SIGINT');
      else this.requestReload();
    });
    setInterval(() => {
      this.killHanging();
    }, ALIVE_MS);
    this.reloading = this.startAll();
    await this.reloading;
  }

  private async startAll(): Promise<void> {
    const first = await this.start(this.config);
    if (this.isEnding()) return;
    // It has reported why.
    if (typeof first === 'number') process.exit(first);
    this.keep(0, first);
    const others = Array.from({ length: this.config.workers - 1 }, (_, index) => this.fill(index + 1));
    await Promise.all(others);
    if (!this.isEnding()) this.logger.log(describeStart(this.config, null));
  }

  /** Starts a process. Resolves when it serves, or with its exit code if it ends before. */
  private start(config: Config): Promise<Worker | number> {
    const worker = cluster.fork();
    return new Promise((resolve) => {
      worker.on('message', (notice: Notice) => {
        // With the contents of all files that settings name, so that all processes have the same.
        if (notice === 'starts') worker.send(config);
        if (notice === 'reload') this.requestReload();
        if (notice !== 'alive') return;
        this.unheard.set(worker, 0);
        resolve(worker);
      });
      worker.once('error', () => {
        resolve(EXIT_FAILED);
      });
      worker.once('exit', (code: number | null) => {
        this.unheard.delete(worker);
        resolve(code ?? EXIT_FAILED);
      });
    });
  }

  /** Replaces the process when it ends, unless another one has taken its place. */
  private keep(index: number, worker: Worker, failures = 0): void {
    const begun = performance.now();
    this.workers[index] = worker;
    worker.once('exit', (code: number | null, signal: string | null) => {
      if (this.isEnding() || this.workers[index] !== worker) return;
      const next = performance.now() - begun >= WELL_AFTER_MS ? 1 : failures + 1;
      this.logger.error(
        `A process has ended (${signal ?? `exit code ${code}`}): another one takes its place`,
      );
      void this.fill(index, next);
    });
  }

  /** Starts a process until one serves. The pause grows with each failure. */
  private async fill(index: number, failures = 0): Promise<void> {
    const former = this.workers[index];
    for (let failed = failures; !this.isEnding() && this.workers[index] === former; failed++) {
      const pause = failed <= 1 ? 0 : backOff(failed, Math.random());
      await sleep(pause, undefined, { signal: this.ending.signal }).catch(() => undefined);
      if (this.isEnding()) return;
      const started = await this.start(this.config);
      if (typeof started === 'number') continue;
      if (this.workers[index] === former) this.keep(index, started, failed);
      else await this.stop(started, 'SIGHUP');
    }
  }

  private requestReload(): void {
    if (this.isReloadRequested) return;
    this.isReloadRequested = true;
    this.reloading = this.reloading.then(() => {
      this.isReloadRequested = false;
      return this.reload();
    });
  }

  /** Replaces all processes by others with the settings and files of now, or by none. */
  private async reload(): Promise<void> {
    const { config: former, workers } = this;
    try {
      loadEnvironmentFile();
      // The number of processes stays: they share the connections to the database by it.
      this.config = { ...readUsableConfig(), workers: workers.length };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.logger.error(`The service does not start again: ${error.problems.join('; ')}`);
      return;
    }
    const count = await this.replace(workers.length);
    if (this.isEnding()) return;
    if (count === workers.length) {
      this.logger.log('All processes were replaced');
      return;
    }
    this.logger.error('A new process does not start: the present ones continue');
    this.config = former;
    await this.replace(count);
  }

  /** @returns how many were replaced before one did not start */
  private async replace(count: number): Promise<number> {
    for (let index = 0; index < count; index++) {
      if (this.isEnding()) return index;
      const started = await this.start(this.config);
      if (typeof started === 'number' || this.isEnding()) return index;
      const former = this.workers[index];
      this.keep(index, started);
      // It leaves new connections to the others at once.
      if (former !== undefined) await this.stop(former, 'SIGHUP');
    }
    return count;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (this.isEnding()) return;
    logShutdown(signal);
    this.ending.abort();
    // The others leave new connections to the last one, which accepts them for a second more.
    const last = this.workers.filter((worker) => this.unheard.has(worker)).at(-1);
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(workers.map((each) => this.stop(each, each === last ? signal : 'SIGHUP')));
    process.exit(0);
  }

  private async stop(worker: Worker, signal: NodeJS.Signals): Promise<void> {
    this.unheard.delete(worker);
    if (worker.isDead()) return;
    const killing = setTimeout(() => worker.process.kill('SIGKILL'), LONGEST_END_MS);
    worker.process.kill(signal);
    await once(worker, 'exit');
    clearTimeout(killing);
  }

  private killHanging(): void {
    for (const [worker, count] of this.unheard) {
      if (count === MOST_UNHEARD) worker.process.kill('SIGKILL');
      this.unheard.set(worker, count + 1);
    }
  }

  /** A method, because a signal may arrive during an await. */
  private isEnding(): boolean {
    return this.ending.signal.aborted;
  }
}
