import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ServiceUnavailableError } from '../../common/errors.js';
import { Injectable } from '@nestjs/common';

/** Age at which the key set is fetched again, although no key is missing. */
const REFRESH_SECONDS = 600;
/** Time without an attempt to fetch the keys after which a token waits for one. */
const MAX_IDLE_SECONDS = 2 * REFRESH_SECONDS;
/** Age up to which keys are used while the issuer cannot be reached. */
const MAX_AGE_SECONDS = 24 * 3600;
/** The limit of fetches, for any tokens from clients and any responses of the issuer. */
const FETCHES_PER_MINUTE = 3;
/** Time to the second attempt after a failure: many failures are short. */
const FIRST_RETRY_SECONDS = 1;
/** Time to each further attempt, so that the fetches of a minute are spread over it. */
const RETRY_SECONDS = 20;

interface KnownKeys {
  readonly find: JWTVerifyGetKey;
  /** The time of their arrival in seconds. */
  readonly at: number;
  readonly fetch: number;
}

/**
 * The keys of an external issuer. Known keys are used while the issuer is down. A token with an unknown key causes a fetch, and
 * if the fetch fails the error is SERVICE_UNAVAILABLE, because the token may be valid.
 */
export class IssuerKeys {
  private known: KnownKeys | null = null;
  private fetching: Promise<KnownKeys> | null = null;
  private fetches = 0;
  /** The start times of the fetches of the last minute. */
  private begun: number[] = [];
  /** When the last fetch began, in seconds. */
  private attemptedAt = -Infinity;
  private failures = 0;
  /** No fetch starts before this time. */
  private retryAt = -Infinity;

  constructor(
    private readonly fetchKeys: () => Promise<JSONWebKeySet>,
    /** A monotonic clock in seconds. */
    private readonly clock: () => number = () => performance.now() / 1000,
  ) {}

  /**
   * Verifies with the known keys, and if the key is missing, with keys that are fetched after the token arrived.
   * @throws ServiceUnavailableError if the keys cannot be fetched at the moment
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
    if (known === null || age >= MAX_AGE_SECONDS) return this.next();
    if (age < REFRESH_SECONDS) return known;
    // After a time without tokens, a key may have been withdrawn long ago.
    const mustWait = this.clock() - this.attemptedAt >= MAX_IDLE_SECONDS;
    // If it fails, the known keys are still used.
    const refreshed = this.next().catch(() => known);
    return mustWait ? refreshed : known;
  }

  /** The keys of the running fetch, or else of a new one. */
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
    this.attemptedAt = now;
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

/** The public keys of the embedded provider, so that this process sends no HTTP requests to itself. */
@Injectable()
export class EmbeddedIssuer {
  private keys: JSONWebKeySet | null = null;

  /** The key set of the embedded provider; null if there is none, or if it has not started. */
  get jwks(): JSONWebKeySet | null {
    return this.keys;
  }

  publish(jwks: JSONWebKeySet): void {
    this.keys = jwks;
  }
}
