import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { CHILD_STDIO } from '../common/child-input.js';
import type { MessageHandlers } from '../common/messenger.js';
import { SupervisedProcess } from '../common/supervised-process.js';
import type { Config } from '../config/config.js';
import { writeConfigCopy } from '../config/config-copy.js';
import type { MetricFamilies } from '../monitoring/metrics/registry.js';

/** Milliseconds for the reply of a process. */
const REPLY_TIMEOUT_MS = 1000;

/** How a process ends. */
export interface StopOrder {
  /** SIGHUP: other processes get the new connections, so it stops accepting at once. */
  readonly signal: NodeJS.Signals;
  /** Whether another process has taken its place, so that the service does not end. */
  readonly isReplaced: boolean;
}

export interface WorkerOptions {
  readonly entry: URL;
  /** Arguments of the process. */
  readonly args: readonly string[];
  /** Also for a process that starts later. */
  readonly config: Config;
  readonly handlers: MessageHandlers;
  /** Called with the last metrics of a process that has ended; null if they were never read. */
  readonly onEnd: (metrics: MetricFamilies | null) => void;
  readonly onFault: (reason: string, pause: number, code: number | null) => void;
}

/** A process that serves requests, which starts again when it ends. */
export class WorkerProcess {
  private readonly supervised: SupervisedProcess;
  private known = beginning();
  private onListening: (isListening: boolean) => void = () => undefined;
  /** Resolves when the process first listens, or with false if it ended, or has to end, before. */
  readonly listening = new Promise<boolean>((resolve) => {
    this.onListening = resolve;
  });

  constructor(private readonly options: WorkerOptions) {
    const { entry, args, config, handlers, onFault } = options;
    this.supervised = new SupervisedProcess({
      spawn: () => spawn(entry, args),
      input: writeConfigCopy(config),
      handlers: {
        ...handlers,
        listening: () => {
          this.known.isListening = true;
          this.onListening(true);
        },
        ended: (metrics) => {
          this.note(metrics as MetricFamilies | null);
        },
      },
      onFault: (reason, pause, code) => {
        this.onListening(false);
        this.noteEnd();
        onFault(reason, pause, code);
      },
    });
    this.supervised.start();
  }

  get isListening(): boolean {
    return this.known.isListening;
  }

  /** The last known metrics if it does not reply in time or does not run; null if there are none. */
  async readMetrics(): Promise<MetricFamilies | null> {
    const { known } = this;
    const metrics = (await this.ask('metrics', null)) as MetricFamilies | null;
    known.metrics = metrics ?? known.metrics;
    return known.metrics;
  }

  /** Notes metrics that the process has sent itself. */
  note(metrics: MetricFamilies | null): void {
    this.known.metrics = metrics ?? this.known.metrics;
  }

  /** Null if it does not reply in time, or does not listen yet: then it has nothing to return, and would reply late. */
  async ask(kind: string, value: unknown): Promise<unknown> {
    if (!this.isListening) return null;
    const timeout = new Promise<null>((resolve) => setTimeout(resolve, REPLY_TIMEOUT_MS, null).unref());
    return Promise.race([this.supervised.ask(kind, value), timeout]);
  }

  async stop(order: StopOrder): Promise<void> {
    const { isListening } = this;
    this.onListening(false);
    await this.supervised.stop((child) => {
      // A worker of node:cluster discards messages until its modules are loaded.
      if (isListening) this.supervised.notify('stop', order);
      else child.kill('SIGTERM');
    });
    this.noteEnd();
  }

  /** In one step, so that the counts of a process are always either its own or among those of the ended ones. */
  private noteEnd(): void {
    this.options.onEnd(this.known.metrics);
    this.known = beginning();
  }
}

/** What is known of one process. The one after it begins with nothing. */
function beginning(): { isListening: boolean; metrics: MetricFamilies | null } {
  return { isListening: false, metrics: null };
}

function spawn(entry: URL, args: readonly string[]): ChildProcess {
  cluster.setupPrimary({
    exec: fileURLToPath(entry),
    args: [...args],
    stdio: CHILD_STDIO,
  });
  return cluster.fork().process;
}
