import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { MessageHandlers } from '../common/messenger.js';
import { SupervisedProcess } from '../common/supervised-process.js';
import type { MetricFamilies } from '../monitoring/metrics/registry.js';

/** Milliseconds for the reply of a process. */
const REPLY_TIMEOUT_MS = 1000;

export interface WorkerOptions {
  readonly entry: URL;
  /** Arguments of the process. */
  readonly args: readonly string[];
  readonly handlers: MessageHandlers;
  /** Called with the last metrics of a process that has ended; null if they were never read. */
  readonly onEnd: (metrics: MetricFamilies | null) => void;
  readonly onFault: (reason: string, pause: number, code: number | null) => void;
}

/** A process that serves requests, which starts again when it ends. */
export class WorkerProcess {
  private readonly supervised: SupervisedProcess;
  private metrics: MetricFamilies | null = null;
  private onListening: (isListening: boolean) => void = () => undefined;
  /** Resolves when the process first listens, or with false if it ended before. */
  readonly listening = new Promise<boolean>((resolve) => {
    this.onListening = resolve;
  });

  constructor(options: WorkerOptions) {
    const { entry, args, handlers, onEnd, onFault } = options;
    this.supervised = new SupervisedProcess({
      spawn: () => spawn(entry, args),
      handlers: {
        ...handlers,
        listening: () => {
          this.onListening(true);
        },
        ended: (metrics) => {
          this.metrics = metrics as MetricFamilies | null;
        },
      },
      onFault: (reason, pause, code) => {
        this.onListening(false);
        onEnd(this.metrics);
        this.metrics = null;
        onFault(reason, pause, code);
      },
    });
    this.stopped = async (signal) => {
      await this.supervised.stop(() => {
        this.supervised.notify('stop', signal);
      });
      onEnd(this.metrics);
    };
    this.supervised.start();
  }

  private readonly stopped: (signal: NodeJS.Signals) => Promise<void>;

  /** Null if the process does not reply in time, does not run, or has no metrics. */
  async readMetrics(): Promise<MetricFamilies | null> {
    const metrics = (await this.ask('metrics', null)) as MetricFamilies | null;
    this.metrics = metrics ?? this.metrics;
    return metrics;
  }

  /** Null if it does not reply in time. */
  ask(kind: string, value: unknown): Promise<unknown> {
    const timeout = new Promise<null>((resolve) => setTimeout(resolve, REPLY_TIMEOUT_MS, null).unref());
    return Promise.race([this.supervised.ask(kind, value), timeout]);
  }

  /** @param signal SIGHUP: another process has taken its place */
  stop(signal: NodeJS.Signals): Promise<void> {
    return this.stopped(signal);
  }
}

function spawn(entry: URL, args: readonly string[]): ChildProcess {
  cluster.setupPrimary({
    exec: fileURLToPath(entry),
    args: [...args],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return cluster.fork().process;
}
