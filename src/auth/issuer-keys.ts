import {
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type JWTVerifyGetKey,
} from 'jose';
import { ServiceUnavailableError } from '../common/errors.js';

/** Seconds after which the key set is fetched again although nothing seems to be missing. */
const FRESH_SECONDS = 600;
/** Seconds for which known keys serve while the issuer cannot be reached. */
const KNOWN_SECONDS = 24 * 3600;
/** The issuer is asked at most this often within a minute, whatever tokens come in. */
const FETCHES_PER_MINUTE = 3;

type KeyFinder = ReturnType<typeof createLocalJWKSet>;

/**
 * The keys of an external issuer. Known keys go on verifying while the issuer is away; a key that is not known
 * is looked for at the issuer, and if that cannot be asked the answer is «not now» and never «wrong».
 */
export class IssuerKeys {
  private known: { find: KeyFinder; at: number } | null = null;
  private fetching: Promise<void> | null = null;
  private attempts: number[] = [];

  constructor(
    private readonly fetchKeys: () => Promise<JSONWebKeySet>,
    /** Milliseconds of a clock that only goes forward. */
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** For jose: finds the key of a token. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    await this.refresh();
    try {
      return await this.findKnown(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.fetchNow();
      return await this.findKnown(header, token);
    }
  };

  private async findKnown(header: JWSHeaderParameters, token: FlattenedJWSInput) {
    if (this.known === null)
      throw new ServiceUnavailableError('The identity provider cannot be reached at the moment');
    return this.known.find(header, token);
  }

  private async refresh(): Promise<void> {
    const age = this.known === null ? Infinity : (this.clock() - this.known.at) / 1000;
    if (age < FRESH_SECONDS) return;
    if (age >= KNOWN_SECONDS) {
      this.known = null;
      await this.fetchNow();
      return;
    }
    // Somebody else's request need not wait for it, and if it fails the known keys serve on.
    if (this.mayFetch()) void this.fetchNow().catch(() => undefined);
  }

  private fetchNow(): Promise<void> {
    if (this.fetching !== null) return this.fetching;
    if (!this.mayFetch()) {
      return Promise.reject(
        new ServiceUnavailableError('The key of this token is not known yet: try again shortly'),
      );
    }
    this.attempts.push(this.clock());
    this.fetching = this.fetchKeys()
      .then((jwks) => {
        this.known = { find: createLocalJWKSet(jwks), at: this.clock() };
      })
      .catch((error: unknown) => {
        throw new ServiceUnavailableError('The identity provider cannot be reached at the moment', {
          cause: error,
        });
      })
      .finally(() => {
        this.fetching = null;
      });
    return this.fetching;
  }

  private mayFetch(): boolean {
    const minuteAgo = this.clock() - 60_000;
    this.attempts = this.attempts.filter((at) => at > minuteAgo);
    return this.attempts.length < FETCHES_PER_MINUTE;
  }
}
