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

/** Metrics of one process as JSON. */
export type MetricFamilies = readonly MetricObjectWithValues<MetricValue<string>>[];

/** Processes of a cluster ask for the metrics of all, and the first one asks them for theirs. Others send other messages. */
interface Message {
  readonly metrics?: 'ask' | MetricFamilies | { readonly text: string };
}

/** In the first process of a cluster: gives the others the metrics of all, when they ask for them. */
export function shareMetrics(): void {
  const known = new Map<Worker, MetricFamilies>();
  const replies = new Map<Worker, () => void>();
  /** Counters and histograms of processes that have ended: sums must never decrease. */
  let ended: Promise<MetricFamilies> = Promise.resolve([]);
  let reading: Promise<string> | null = null;

  const read = async () => {
    const tooLate = sleep(REPLY_TIMEOUT_MS, undefined, { ref: false });
    const workers = Object.values(cluster.workers ?? {}).filter((each) => each !== undefined);
    const replied = workers.map((worker) => new Promise<void>((resolve) => replies.set(worker, resolve)));
    for (const worker of workers) send(worker, { metrics: 'ask' });
    await Promise.race([Promise.all(replied), tooLate]);
    reading = null;
    return aggregate([...known.values(), await ended]).metrics();
  };
  cluster.on('message', (worker, { metrics }: Message) => {
    if (metrics === 'ask') {
      reading ??= read();
      void reading.then((text) => {
        send(worker, { metrics: { text } });
      });
    } else if (Array.isArray(metrics)) {
      known.set(worker, metrics as MetricFamilies);
      replies.get(worker)?.();
    }
  });
  cluster.on('exit', (worker) => {
    const isCounted = ({ type, aggregator }: MetricFamilies[number]) =>
      ['counter', 'histogram'].includes(String(type)) && aggregator === 'sum';
    const last = (known.get(worker) ?? []).filter(isCounted);
    ended = ended.then((sum) => aggregate([sum, last]).getMetricsAsJSON());
    known.delete(worker);
    replies.get(worker)?.();
  });
}

/** Adds up the metrics of several processes. What is unknown in one of them is known in another one. */
function aggregate(each: readonly MetricFamilies[]): Registry {
  const isKnown = ({ value }: MetricValue<string>) => !Number.isNaN(value);
  return AggregatorRegistry.aggregate(
    each.map((families) => families.map((family) => ({ ...family, values: family.values.filter(isKnown) }))),
  );
}

/** The worker may end at any time. */
function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

/**
 * In the other processes of a cluster.
 * @param readOwn reads the metrics of this process
 * @returns what reads the metrics of all processes in the Prometheus text format
 */
export function joinMetrics(readOwn: () => Promise<MetricFamilies>): () => Promise<string> {
  const waiting: ((text: string) => void)[] = [];
  const sendToFirst = (message: Message) => process.send?.(message, undefined, undefined, () => undefined);
  process.on('message', ({ metrics }: Message) => {
    if (metrics === 'ask') void readOwn().then((families) => sendToFirst({ metrics: families }));
    else if (metrics !== undefined && 'text' in metrics) waiting.shift()?.(metrics.text);
  });
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      sendToFirst({ metrics: 'ask' });
    });
}
