import type { MetricFamilies } from './registry.js';

/** Types of metrics that only grow. */
const COUNTED = new Set(['counter', 'histogram']);

/** The counters and histograms of processes that have ended: sums over all processes must never decrease. */
export class EndedMetrics {
  private kept: MetricFamilies[] = [];
  private adding: Promise<void> = Promise.resolve();

  get families(): readonly MetricFamilies[] {
    return this.kept;
  }

  /** @param metrics the last metrics of a process; null if they were never read */
  add(metrics: MetricFamilies | null): void {
    if (metrics === null) return;
    // At once, so that no reading misses them. They are added up afterwards.
    this.kept = [
      ...this.kept,
      metrics.filter(({ type, aggregator }) => COUNTED.has(String(type)) && aggregator === 'sum'),
    ];
    this.adding = this.adding.then(() => this.addUp());
  }

  private async addUp(): Promise<void> {
    const summands = this.kept;
    // The library is needed only here.
    const { addFamilies } = await import('./registry.js');
    const sum = await addFamilies(summands);
    this.kept = [sum, ...this.kept.slice(summands.length)];
  }
}
