import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { LRUCache } from 'lru-cache';
import { ExternalIssuer } from '../auth/tokens/issuer.js';
import { Incident } from '../common/incident.js';
import { inTime } from '../common/settles-within.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { Revisions } from '../database/revisions.js';
import { statement } from '../database/statements/statement.js';
import { Limits } from '../limits/limits.js';
import { describeTrouble, MirrorState } from '../mirror/status/mirror-state.js';

/** Milliseconds for one check of readiness. */
const CHECK_TIMEOUT_MS = 1000;
/** Milliseconds for which the answer of the issuer counts: every balancer checks readiness every few seconds. */
const ISSUER_MS = 10_000;
const PING = statement('select true');

/** What readiness reports. Shutdown, database and mirror can fail it; issuer and Redis only report. */
@Injectable()
export class Indicators implements OnModuleDestroy {
  /** Down as soon as the process has got the signal to shut down. */
  isEnding = false;
  /** Another process has taken the place of this one, so the service does not end. */
  isReplaced = false;
  private readonly incident = new Incident(new Logger('Authentication'));
  /** Whether an issuer answers. Concurrent checks share one request, because anyone can ask for readiness. */
  private readonly answers = new LRUCache<string, { readonly reachable: boolean }>({
    max: 1,
    ttl: ISSUER_MS,
    fetchMethod: (issuer) =>
      inTime(CHECK_TIMEOUT_MS, new ExternalIssuer(issuer, this.config.auth).discover()).then(
        () => ({ reachable: true }),
        () => ({ reachable: false }),
      ),
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly limits: Limits,
    private readonly state: MirrorState,
    private readonly database: Database,
    private readonly revisions: Revisions,
    private readonly indicators: HealthIndicatorService,
  ) {}

  onModuleDestroy(): void {
    this.isEnding = true;
  }

  readonly process = (): HealthIndicatorResult => {
    const indicator = this.indicators.check('process');
    return this.isEnding && !this.isReplaced ? indicator.down('shutting down') : indicator.up();
  };

  readonly primary = async (): Promise<HealthIndicatorResult> => {
    const indicator = this.indicators.check('database');
    try {
      await inTime(CHECK_TIMEOUT_MS, this.database.read(PING));
      return indicator.up();
    } catch {
      return indicator.down(); // Without the reason, because the response is public.
    }
  };

  /**
   * Down until the directory has been read once with the rules of visibility of this process. Afterwards the age of the mirror is
   * reported only, because it is the same in all processes.
   */
  readonly mirror = async (): Promise<HealthIndicatorResult> => {
    const indicator = this.indicators.check('mirror');
    try {
      const { reason, ...status } = await inTime(CHECK_TIMEOUT_MS, this.readMirror());
      return reason === null ? indicator.up(status) : indicator.down({ ...status, reason });
    } catch {
      // The database is down, which its own check reports.
      return indicator.up({ state: 'UNKNOWN', ageSeconds: null });
    }
  };

  /** Never down, because known keys work without the issuer. */
  readonly identityProvider = async (): Promise<HealthIndicatorResult> => {
    const indicator = this.indicators.check('identityProvider');
    const { issuer } = this.config.auth;
    if (issuer === null) return indicator.up({ embedded: true });
    const { reachable = false } = (await this.answers.fetch(issuer)) ?? {};
    if (reachable) this.incident.end('The identity provider is reachable again');
    else
      this.incident.note(
        'The identity provider cannot be reached: only tokens that known keys verify are accepted',
      );
    return reachable ? indicator.up({ reachable }) : indicator.degraded({ reachable });
  };

  /** Whether limits are shared. Never down, because each process has limits of its own. */
  readonly redis = (): HealthIndicatorResult => {
    if (this.config.redis === null) return {};
    const indicator = this.indicators.check('redis');
    const { isShared: shared } = this.limits;
    return shared ? indicator.up({ shared }) : indicator.degraded({ shared });
  };

  private async readMirror() {
    const status = await this.state.get();
    const { state, revision } = status;
    const notRead = describeTrouble(status) ?? 'The directory has not been read yet';
    if (revision === null) return { state, ageSeconds: null, reason: notRead };
    if (!(await this.database.isRead()))
      return { state, ageSeconds: null, reason: 'The rules of visibility have changed' };
    const age = await this.revisions.readAge();
    // Infinity if a clock was set back and the age is unknown.
    const ageSeconds = age === null || !Number.isFinite(age) ? null : Math.round(age);
    return { state, ageSeconds, reason: null };
  }
}
