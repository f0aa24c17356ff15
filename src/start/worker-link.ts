import { Messenger } from '../common/messenger.js';
import type { Grant } from '../limits/granted-counts.js';
import { WorkerCounts } from '../limits/worker-counts.js';
import type { OtherProcesses } from '../monitoring/metrics/metrics.service.js';
import type { MetricFamilies } from '../monitoring/metrics/registry.js';
import type { StopOrder } from './worker-process.js';

/** Connects a process that serves requests to the one that supervises it: see Supervisor. */
export class WorkerLink {
  private readonly stopping = new AbortController();
  /** Whether another process has taken the place of this one that ends. */
  isReplaced = false;
  /** Reads the metrics of this process; null before they exist. */
  readMetrics: () => Promise<MetricFamilies> | null = () => null;
  readonly messenger: Messenger = new Messenger(process, {
    stop: (order) => {
      const { signal, isReplaced } = order as StopOrder;
      this.isReplaced = isReplaced;
      this.stopping.abort(signal);
    },
    metrics: () => this.readMetrics(),
    giveBack: (value) => {
      const { name, subject } = value as { name: string; subject: string };
      return this.counts.giveBack(name, subject);
    },
  });
  readonly counts: WorkerCounts = new WorkerCounts(
    async (request) => (await this.messenger.ask('take', request)) as Grant | null,
  );
  readonly otherProcesses: OtherProcesses = {
    readMetrics: async (own) => ((await this.messenger.ask('otherMetrics', own)) ?? []) as MetricFamilies[],
  };

  constructor() {
    // A terminal sends them to all processes. The supervisor decides what they mean.
    process.on('SIGINT', () => undefined);
    process.on('SIGHUP', () => undefined);
    process.once('SIGTERM', () => {
      this.stopping.abort('SIGTERM');
    });
  }

  /** Aborted when this process has to end. The reason is the signal of a StopOrder. */
  get ending(): AbortSignal {
    return this.stopping.signal;
  }
}
