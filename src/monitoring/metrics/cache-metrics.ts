import { Injectable } from '@nestjs/common';
import { TokenCache } from '../../auth/credentials.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import { ResponseCache } from '../../graphql/cache/response-cache.js';
import { Documents } from '../../graphql/analysis/document-parser.js';
import { SignedUrls } from '../../media/signing/signed-urls.js';
import type { LabelledValue, Metric, MetricGroup } from './metric.js';

/** Metrics of caches: their size and their hits. */
@Injectable()
export class CacheMetrics implements MetricGroup {
  readonly metrics: readonly Metric[];

  constructor(answers: ResponseCache, documents: Documents, tokens: TokenCache, signedUrls: SignedUrls) {
    const caches = { answers, documents, tokens, signed_urls: signedUrls };
    const read = (property: keyof CacheStatistics) => () =>
      Object.entries(caches).flatMap(([cache, { statistics }]): LabelledValue[] => {
        const value = statistics[property];
        return value === null ? [] : [[{ cache }, value]];
      });
    this.metrics = [
      {
        name: 'directory_cache_hits_total',
        help: 'Lookups that found an entry in the cache',
        read: read('hits'),
      },
      {
        name: 'directory_cache_misses_total',
        help: 'Lookups that found no entry in the cache',
        read: read('misses'),
      },
      { name: 'directory_cache_entries', help: 'Entries in the cache', read: read('entries') },
      { name: 'directory_cache_bytes', help: 'Approximate memory of the entries', read: read('bytes') },
    ];
  }
}
