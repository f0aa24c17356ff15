import { Inject, Injectable } from '@nestjs/common';
import pLimit, { type LimitFunction } from 'p-limit';
import { ServiceUnavailableError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { timeLimitsFor } from '../../database/connections/pool-options.js';
import type { RequestContext } from '../http/request-context.js';

/**
 * Shares the connections of previews among principals: one uses at most half of them, because a preview can take ten seconds. Its
 * further previews wait as long as for a connection.
 */
@Injectable()
export class PreviewShares {
  private readonly most: number;
  private readonly waitMs: number;
  /** The principals that have previews. */
  private readonly byPrincipal = new Map<string, LimitFunction>();

  constructor(@Inject(CONFIG) { database }: Pick<Config, 'database'>) {
    this.most = Math.ceil(database.previewPoolSize / 2);
    this.waitMs = timeLimitsFor(database.timeoutSeconds).connection;
  }

  /** @throws ServiceUnavailableError if the previews of the principal do not end in time */
  run<Result>(
    { principal }: Pick<RequestContext, 'principal'>,
    preview: () => Promise<Result>,
  ): Promise<Result> {
    const { countedAs = '' } = principal ?? {};
    const limit = this.byPrincipal.get(countedAs) ?? pLimit(this.most);
    this.byPrincipal.set(countedAs, limit);
    return new Promise((resolve, reject) => {
      let isWaiting = true;
      const timer = setTimeout(() => {
        isWaiting = false;
        reject(new ServiceUnavailableError('Too many previews of one principal: wait for their answers'));
      }, this.waitMs);
      const begin = async () => {
        clearTimeout(timer);
        if (isWaiting) await preview().then(resolve, reject);
      };
      // The counts of the limit are those after the preview.
      void limit(begin).then(() => {
        if (limit.activeCount + limit.pendingCount === 0) this.byPrincipal.delete(countedAs);
      });
    });
  }
}
