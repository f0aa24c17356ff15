import { Injectable } from '@nestjs/common';
import { TokenCache } from '../../auth/tokens/token-cache.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import { ResponseCache } from '../../graphql/cache/response-cache.js';
import { Documents } from '../../graphql/analysis/document-parser.js';
import { SignedUrls } from '../../media/signing/signed-urls.js';
import type { CounterReading, GaugeReading, LabelledValue, MetricGroup, Metrics } from './metric-group.js';

/** Metrics of caches: their size and their hits. */
@Injectable()
export class CacheMetrics implements MetricGroup {
  private hits!: CounterReading;
  private misses!: CounterReading;
  private entries!: GaugeReading;
  private bytes!: GaugeReading;

  constructor(
    private readonly answers: ResponseCache,
    private readonly documents: Documents,
    private readonly tokens: TokenCache,
    private readonly signedUrls: SignedUrls,
  ) {}

  register(metrics: Metrics): void {
    const labels = ['cache'];
    this.hits = metrics.counter('directory_cache_hits_total', 'Times that it was remembered', labels);
    this.misses = metrics.counter('directory_cache_misses_total', 'Times that it was not remembered', labels);
    this.entries = metrics.gauge('directory_cache_entries', 'Things that are remembered', labels);
    this.bytes = metrics.gauge('directory_cache_bytes', 'Memory that they take, about', labels);
  }

  update(): void {
    const caches: [cache: string, statistics: CacheStatistics][] = [
      ['answers', this.answers.statistics],
      ['documents', this.documents.statistics],
      ['tokens', this.tokens.statistics],
      ['signed_urls', this.signedUrls.statistics],
    ];
    const values = (choose: (statistics: CacheStatistics) => number | null) =>
      caches.flatMap(([cache, statistics]): LabelledValue[] => {
        const value = choose(statistics);
        return value === null ? [] : [[{ cache }, value]];
      });
    this.hits.take(values(({ hits }) => hits));
    this.misses.take(values(({ misses }) => misses));
    this.entries.take(values(({ entries }) => entries));
    this.bytes.take(values(({ bytes }) => bytes));
  }
}
