import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import type { Config } from './config/config.js';
import { unloadEnvironmentFile } from './config/environment-file.js';
import { Limit, type Take, type Taken } from './limits/limits.js';
import { shareMetrics } from './monitoring/metrics/cluster.js';
import { describeStart, EXIT_FAILED, type Notice } from './process.js';
import { beginLog } from './serve.js';

/** Milliseconds between a process that did not start and the next one in its place. */
const PAUSE_MS = 1000;
/** Milliseconds that a process may take to end: for requests, and for the database. */
const LONGEST_END_MS = 25_000;
/** What remains of a limit when it is taken one by one, and the share of the rest that processes get in advance. */
const [LAST_EXACT, SHARE_IN_ADVANCE] = [100, 1 / 4];

/** The first of several processes (docs/adr/0044). It starts those that serve requests, and replaces each that ends. */
export class Cluster {
  private readonly logger = new Logger('Service');
  private isEnding = false;
  /** Those that serve, in the order of their start. Each of them is replaced when it ends. */
  private readonly serving = new Set<Worker>();
  /** Starts and replacements, one after the other. */
  private work: Promise<void> = Promise.resolve();

  constructor(private readonly config: Config) {}

  /** Starts the first process alone, so that a failure of the start is reported once. */
  async run(): Promise<void> {
    beginLog(this.config);
    // Each process reads the file itself, also a later one.
    unloadEnvironmentFile();
    const exec = fileURLToPath(new URL('./main.js', import.meta.url));
    const args = process.argv.filter((each) => each === '--json');
    cluster.setupPrimary({ exec, args, serialization: 'advanced' }); // Metrics can be NaN.
    countForProcesses(this.config.workers);
    if (this.config.monitoring.metrics !== null) shareMetrics();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.end(signal));
    process.on('SIGHUP', () => {
      // A terminal was closed, and nothing reads the output any more.
      if (process.stdout.isTTY || process.stderr.isTTY) void this.end('SIGINT');
      else this.next(() => this.replaceAll());
    });
    this.next(async () => {
      const first = await this.start();
      // It has reported why.
      if (typeof first === 'number' && !this.isEnding) process.exit(first);
      await this.fill();
      if (!this.isEnding) this.logger.log(describeStart(this.config, null));
    });
    await this.work;
  }

  private next(work: () => Promise<void>): void {
    this.work = this.work.then(work);
  }

  /** Starts a process. Resolves when it serves, or with its exit code if it ends before. */
  private start(): Promise<Worker | number> {
    const worker = cluster.fork();
    return new Promise((resolve) => {
      worker.on('message', (notice: Notice) => {
        if (notice === 'reload') this.next(() => this.replaceAll());
        if (notice !== 'serves') return;
        this.serving.add(worker);
        resolve(worker);
      });
      worker.once('error', resolve.bind(null, EXIT_FAILED));
      worker.once('exit', (code: number | null, signal: string | null) => {
        resolve(code ?? EXIT_FAILED);
        if (!this.serving.delete(worker) || this.isEnding) return;
        this.logger.error(`A process has ended (${signal ?? `code ${code}`}): another one takes its place`);
        this.next(() => this.fill());
      });
    });
  }

  /** Starts processes until all serve. */
  private async fill(): Promise<void> {
    while (!this.isEnding && this.serving.size < this.config.workers) {
      const missing = this.config.workers - this.serving.size;
      const started = await Promise.all(Array.from({ length: missing }, () => this.start()));
      if (started.some((each) => typeof each === 'number')) await sleep(PAUSE_MS);
    }
  }

  /** Replaces one process after the other by one with the settings and files of now. */
  private async replaceAll(): Promise<void> {
    for (const worker of [...this.serving]) {
      const started = await this.start();
      if (this.isEnding) return;
      if (typeof started === 'number') {
        this.logger.error('A new process does not start: the present ones continue');
        return;
      }
      await this.stop(worker, 'SIGHUP'); // It leaves new connections to the others at once.
    }
    if (!this.isEnding) this.logger.log('All processes were replaced');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (this.isEnding) return;
    this.logger.log(`The shutdown begins: ${signal}`);
    this.isEnding = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    // The others leave new connections to the last one, which accepts them for a second more.
    const last = [...this.serving].at(-1);
    await Promise.all(workers.map((each) => this.stop(each, each === last ? signal : 'SIGHUP')));
    process.exit(0);
  }

  private async stop(worker: Worker, signal: NodeJS.Signals): Promise<void> {
    this.serving.delete(worker);
    if (worker.isDead()) return;
    worker.process.kill(signal);
    await once(worker, 'exit', { signal: AbortSignal.timeout(LONGEST_END_MS) }).catch(() => {
      worker.process.kill('SIGKILL');
    });
  }
}

/** Counts for the other processes. Messages are slow, so they get a part of what remains in advance. */
function countForProcesses(processes: number): void {
  const limits: Record<string, Limit> = {};
  cluster.on('message', (worker, { takes }: { takes?: readonly Take[] }) => {
    const results = takes?.map(([name, amount, window, subject, asked]): Taken => {
      // A process that is replaced may have other settings.
      const limit = (limits[`${name}:${amount}`] ??= new Limit(name, amount, window));
      const { isTaken, remaining } = limit.take(subject, asked);
      const rest = asked === 0 ? 0 : Math.max(0, remaining - LAST_EXACT);
      const advance = Math.floor((rest * SHARE_IN_ADVANCE) / processes);
      limit.take(subject, advance);
      const { taken, until } = limit.countOf(subject);
      return [isTaken, taken, until - performance.now(), advance];
    });
    if (results !== undefined) worker.send({ results }, () => undefined); // It may have ended.
  });
}
