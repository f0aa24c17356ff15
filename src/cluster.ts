import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { type Config, ConfigError } from './config/config.js';
import { shareMetrics } from './monitoring/metrics/cluster.js';
import { EXIT_FAILED, isInTerminal, type Notice, readUsableConfig } from './process.js';
import { beginLog, describeStart, logShutdown } from './serve.js';

/** Milliseconds between a process that did not start and the next one in its place. */
const PAUSE_MS = 1000;
/** Milliseconds that a process may take to end: for requests, for the database, and for an exporter of traces that nothing answers. */
const LONGEST_END_MS = 25_000;

/** The first of several processes (docs/adr/0044). It starts those that serve requests, and replaces each that ends. */
export class Cluster {
  private readonly logger = new Logger('Service');
  private readonly ending = new AbortController();
  /** Those that serve, in the order of their start, each with its configuration. Each of them is replaced when it ends. */
  private readonly serving = new Map<Worker, Config>();
  private converging: Promise<void> = Promise.resolve();

  constructor(private config: Config) {}

  /** Starts the first process alone, so that a failure of the start is reported once. */
  async run(): Promise<void> {
    beginLog(this.config);
    const exec = fileURLToPath(new URL('./main.js', import.meta.url));
    const args = process.argv.filter((each) => each === '--json');
    cluster.setupPrimary({ exec, args, serialization: 'advanced' });
    if (this.config.monitoring.metrics !== null) shareMetrics();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.end(signal));
    process.on('SIGHUP', () => {
      if (isInTerminal()) void this.end('SIGINT');
      else this.reload();
    });
    this.converging = this.start().then(async (first) => {
      if (this.isEnding()) return;
      // It has reported why.
      if (typeof first === 'number') process.exit(first);
      await this.converge();
      if (!this.isEnding()) this.logger.log(describeStart(this.config, null));
    });
    await this.converging;
  }

  /** Starts a process. Resolves when it serves, or with its exit code if it ends before. */
  private start(): Promise<Worker | number> {
    const { config } = this;
    const worker = cluster.fork();
    return new Promise((resolve) => {
      worker.on('message', (notice: Notice) => {
        // With the contents of all files that settings name, so that all processes have the same.
        if (notice === 'starts') worker.send({ config });
        if (notice === 'reload') this.reload();
        if (notice !== 'serves') return;
        this.serving.set(worker, config);
        resolve(worker);
      });
      worker.once('error', () => {
        resolve(EXIT_FAILED);
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        resolve(code ?? EXIT_FAILED);
        if (!this.serving.delete(worker) || this.isEnding()) return;
        this.logger.error(
          `A process has ended (${signal ?? `exit code ${code}`}): another one takes its place`,
        );
        this.converging = this.converging.then(() => this.converge());
      });
    });
  }

  /** Starts and replaces processes until all serve with the present configuration. */
  private async converge(): Promise<void> {
    while (!this.isEnding()) {
      const missing = this.config.workers - this.serving.size;
      const [outdated] = [...this.serving].filter(([, config]) => config !== this.config);
      if (missing <= 0 && outdated === undefined) return;
      const started = await Promise.all(Array.from({ length: Math.max(1, missing) }, () => this.start()));
      if (this.isEnding()) return;
      const [worker, former] = outdated ?? [];
      if (started.every((each) => typeof each !== 'number')) {
        // It leaves new connections to the others at once.
        if (missing <= 0 && worker !== undefined) await this.stop(worker, 'SIGHUP');
      } else if (former !== undefined) {
        this.logger.error('A new process does not start: the present ones continue');
        this.config = former;
        for (const each of this.serving.keys()) this.serving.set(each, former);
      } else await sleep(PAUSE_MS, undefined, { signal: this.ending.signal }).catch(() => undefined);
    }
  }

  /** Replaces all processes by others with the settings and files of now. */
  private reload(): void {
    try {
      // The number of processes stays: they share the connections to the database by it.
      const config = { ...readUsableConfig(), workers: this.config.workers };
      this.config = config;
      this.converging = this.converging.then(async () => {
        await this.converge();
        if (!this.isEnding() && this.config === config) this.logger.log('All processes were replaced');
      });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.logger.error(`The service does not start again: ${error.problems.join('; ')}`);
    }
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (this.isEnding()) return;
    logShutdown(signal);
    this.ending.abort();
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    // The others leave new connections to the last one, which accepts them for a second more.
    const last = [...this.serving.keys()].at(-1);
    await Promise.all(workers.map((each) => this.stop(each, each === last ? signal : 'SIGHUP')));
    process.exit(0);
  }

  private async stop(worker: Worker, signal: NodeJS.Signals): Promise<void> {
    this.serving.delete(worker);
    if (worker.isDead()) return;
    const killing = setTimeout(() => worker.process.kill('SIGKILL'), LONGEST_END_MS);
    worker.process.kill(signal);
    await once(worker, 'exit');
    clearTimeout(killing);
  }

  private isEnding(): boolean {
    return this.ending.signal.aborted;
  }
}
