import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ServiceUnavailableError } from '../../common/errors.js';

/** Seconds after which the key set is fetched again although nothing seems to be missing. */
const FRESH_SECONDS = 600;
/** Seconds for which known keys serve while the issuer cannot be reached. */
const KNOWN_SECONDS = 24 * 3600;
/** The issuer is asked for its keys at most this often within a minute, whatever tokens come in and whatever it answers. */
const FETCHES_PER_MINUTE = 3;
/** Seconds to the next attempt after one that failed: many failures are of a moment. */
const FIRST_RETRY_SECONDS = 1;
/** Seconds to each further one: so many that a minute's attempts last for the minute. */
const RETRY_SECONDS = 20;

interface KnownKeys {
  readonly find: JWTVerifyGetKey;
  /** Seconds: when they came. */
  readonly at: number;
  /** The number of the fetch that brought them. */
  readonly fetch: number;
}

/**
 * The keys of an external issuer. Known keys go on verifying while the issuer is away; a key that is not known
 * is looked for at the issuer, and if that cannot be asked the answer is «not now» and never «wrong».
 */
export class IssuerKeys {
  private known: KnownKeys | null = null;
  private fetching: Promise<KnownKeys> | null = null;
  /** Fetches begun so far. */
  private fetches = 0;
  /** When the fetches of the last minute began. */
  private begun: number[] = [];
  /** Attempts that failed since the last one that did not. */
  private failures = 0;
  /** Before that the issuer is not asked again. */
  private retryAt = -Infinity;

  constructor(
    private readonly fetchKeys: () => Promise<JSONWebKeySet>,
    /** Seconds of a clock that only goes forward. */
    private readonly clock: () => number = () => performance.now() / 1000,
  ) {}

  /**
   * Verifies with the keys at hand, and once more with newer ones when it failed for want of a key. Only keys
   * that were asked for after the token came can say that it has none: others may be older than its key.
   * @throws ServiceUnavailableError when the keys cannot be had at the moment
   */
  async verify<Result>(
    attempt: (keys: JWTVerifyGetKey) => Promise<Result>,
    mayHaveNewKey: (error: unknown) => boolean,
  ): Promise<Result> {
    const before = this.fetches;
    let keys = await this.current();
    for (;;) {
      try {
        return await attempt(keys.find);
      } catch (error) {
        if (keys.fetch > before || !mayHaveNewKey(error)) throw error;
        keys = await this.next();
      }
    }
  }

  private async current(): Promise<KnownKeys> {
    const { known } = this;
    const age = known === null ? Infinity : this.clock() - known.at;
    if (known === null || age >= KNOWN_SECONDS) return this.next();
    // Nobody's request need wait for it, and if it fails the known keys serve on.
    if (age >= FRESH_SECONDS) void this.next().catch(() => undefined);
    return known;
  }

  /** The keys of the fetch that is under way, else of a new one. */
  private next(): Promise<KnownKeys> {
    this.fetching ??= this.fetch().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  private async fetch(): Promise<KnownKeys> {
    const now = this.clock();
    this.begun = this.begun.filter((at) => at > now - 60);
    if (this.begun.length >= FETCHES_PER_MINUTE || now < this.retryAt) {
      throw new ServiceUnavailableError('The key of this token is not known yet: try again shortly');
    }
    this.begun.push(now);
    this.fetches += 1;
    const fetch = this.fetches;
    try {
      const find = createLocalJWKSet(await this.fetchKeys());
      this.known = { find, at: this.clock(), fetch };
      this.failures = 0;
      return this.known;
    } catch (cause) {
      this.failures += 1;
      this.retryAt = this.clock() + (this.failures === 1 ? FIRST_RETRY_SECONDS : RETRY_SECONDS);
      throw new ServiceUnavailableError('The identity provider cannot be reached at the moment', { cause });
    }
  }
}
