import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from 'prom-client';

/** Milliseconds for the metrics of a process. Of one that does not reply in time, the last known ones are used. */
const REPLY_TIMEOUT_MS = 1000;
/** Types of metrics that only grow. */
const COUNTED = new Set(['counter', 'histogram']);

/** Metrics of one process as JSON. */
export type MetricFamilies = readonly MetricObjectWithValues<MetricValue<string>>[];

/** What processes of a cluster send to the first one. Libraries and `src/run.ts` send others. */
type Message =
  | { readonly kind?: never }
  | { readonly kind: 'metrics'; readonly families: MetricFamilies }
  | { readonly kind: 'asks-metrics'; readonly id: number };
/** What the first one sends: it asks for metrics, or answers with those of all. */
type Answer =
  | { readonly kind: 'asks-metrics' }
  | { readonly kind: 'all-metrics'; readonly id: number; readonly text: string };

/** In the first process of a cluster: gives each of the others the metrics of all. */
export function shareMetrics(): void {
  const known = new Map<Worker, MetricFamilies>();
  const replies = new Map<Worker, () => void>();
  /** Counters and histograms of processes that have ended: sums must never decrease. */
  let ended: MetricFamilies[] = [];
  let reading: Promise<string> | null = null;

  const read = async () => {
    const tooLate = sleep(REPLY_TIMEOUT_MS, undefined, { ref: false });
    const workers = Object.values(cluster.workers ?? {}).filter((each) => each !== undefined);
    const replied = workers.map((worker) => new Promise<void>((resolve) => replies.set(worker, resolve)));
    for (const worker of workers) send(worker, { kind: 'asks-metrics' });
    await Promise.race([Promise.all(replied), tooLate]);
    reading = null;
    const before = ended;
    const sum = await aggregate(before).getMetricsAsJSON();
    ended = [sum, ...ended.slice(before.length)];
    return aggregate([...known.values(), ...ended]).metrics();
  };
  cluster.on('message', (worker, message: Message) => {
    if (message.kind === 'metrics') {
      known.set(worker, message.families);
      replies.get(worker)?.();
    } else if (message.kind === 'asks-metrics') {
      reading ??= read();
      void reading.then((text) => {
        send(worker, { kind: 'all-metrics', id: message.id, text });
      });
    }
  });
  cluster.on('exit', (worker) => {
    const isCounted = ({ type, aggregator }: MetricFamilies[number]) =>
      COUNTED.has(String(type)) && aggregator === 'sum';
    ended.push((known.get(worker) ?? []).filter(isCounted));
    known.delete(worker);
    replies.get(worker)?.();
  });
}

/** Adds up the metrics of several processes. */
function aggregate(each: readonly MetricFamilies[]): Registry {
  // What is unknown in one process is known in another one.
  const known = each.map((families) =>
    families.map((family) => ({
      ...family,
      values: family.values.filter(({ value }) => !Number.isNaN(value)),
    })),
  );
  return AggregatorRegistry.aggregate(known);
}

/** The worker may end at any time. */
function send(worker: Worker, answer: Answer): void {
  if (worker.isConnected()) worker.send(answer, () => undefined);
}

/** In the other processes of a cluster. */
export class ClusterMetrics {
  private readonly waiting = new Map<number, (text: string) => void>();
  private last = 0;

  /** @param readOwn reads the metrics of this process */
  constructor(readOwn: () => Promise<MetricFamilies>) {
    process.on('message', (answer: Answer) => {
      if (answer.kind === 'asks-metrics')
        void readOwn().then((families) => {
          this.send({ kind: 'metrics', families });
        });
      if (answer.kind !== 'all-metrics') return;
      this.waiting.get(answer.id)?.(answer.text);
      this.waiting.delete(answer.id);
    });
  }

  /** Returns the metrics of all processes in the Prometheus text format. */
  readAll(): Promise<string> {
    const id = ++this.last;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.send({ kind: 'asks-metrics', id });
    });
  }

  private send(message: Message): void {
    process.send?.(message, undefined, undefined, () => undefined);
  }
}
