import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Revisions } from '../../database/revisions/revisions.js';
import { PROBE_ROUTES } from '../../health/probes.js';
import { OTHER_PROCESSES, type OtherProcesses } from '../metrics/metrics.service.js';
import { RequestCounts } from '../metrics/request-metrics.js';
import { type Minute, minuteOf, sumOf, withMeasurement } from './minutes.js';

/** Milliseconds between two measurements. */
const INTERVAL = 15_000;
/** Milliseconds in which all who ask get the same measurement, because no token is needed to ask. */
const SHARED_FOR = 1000;

/** The last hour of this process, in memory. */
@Injectable()
export class History implements OnApplicationBootstrap, OnModuleDestroy {
  private minutes: readonly Minute[] = [];
  private counted = 0;
  private timer: NodeJS.Timeout | null = null;
  private latest: { readonly begun: number; readonly minutes: Promise<readonly Minute[]> } | null = null;

  constructor(
    private readonly counts: RequestCounts,
    private readonly revisions: Revisions,
    @Inject(OTHER_PROCESSES) private readonly others: OtherProcesses | null,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.read(), INTERVAL).unref();
  }

  onModuleDestroy(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Returns the minutes of this process, oldest first, up to now. */
  async read(): Promise<readonly Minute[]> {
    const age = await this.revisions.readAge().catch(() => null);
    const total = this.countRequests();
    this.minutes = withMeasurement(this.minutes, {
      at: minuteOf(Date.now()),
      requests: total - this.counted,
      // Infinity if a clock was set back and the age is unknown.
      ageSeconds: age === null || !Number.isFinite(age) ? null : Math.round(age),
    });
    this.counted = total;
    return this.minutes;
  }

  /** Returns the minutes of all processes that serve requests, oldest first. They are measured at most once a second. */
  readAll(): Promise<readonly Minute[]> {
    const now = performance.now();
    if (this.latest === null || now - this.latest.begun >= SHARED_FOR)
      this.latest = { begun: now, minutes: this.measureAll() };
    return this.latest.minutes;
  }

  private async measureAll(): Promise<readonly Minute[]> {
    const [own, others = []] = await Promise.all([this.read(), this.others?.readHistories()]);
    return sumOf([own, ...others]);
  }

  private countRequests(): number {
    let sum = 0;
    for (const { route, codes } of this.counts.all)
      if (!PROBE_ROUTES.has(route)) for (const count of codes.values()) sum += count;
    return sum;
  }
}
