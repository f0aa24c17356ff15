import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Strategy } from 'passport';
import type { CacheStatistics } from '../common/cache-statistics.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { DEMO_ACCOUNT, EMBEDDED_REFUSAL, mayUseEmbedded } from '../config/settings/embedded.js';
import { FailedLogins } from '../limits/failed-logins.js';
import { UnauthenticatedError } from './authentication.error.js';
import { BasicStrategy, readBasic } from './strategies/basic.strategy.js';
import { BearerStrategy } from './strategies/bearer.strategy.js';
import type { Principal } from './principal.js';
import type { VerifiedToken } from './tokens/token-verifier.js';

/** Tokens remembered at most; one takes about a kilobyte. */
const REMEMBERED_TOKENS = 10_000;

/** Milliseconds before which no login is refused: more than it takes to look it up. */
const EARLIEST_REFUSAL = 5;

const AUTHORIZATION_NAME = 'authorization';
const BASIC = /^Basic\b/i;
/** One scheme, spaces, one token (RFC 9110 §11.4, token68 of §11.2), and nothing else. */
const AUTHORIZATION = /^(Bearer|Basic) +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Says who is asking: once per HTTP request, before the document is looked at. */
@Injectable()
export class Authenticator {
  /** Verified tokens by the SHA-256 of scheme and token: the tokens themselves are kept nowhere. */
  private readonly verified = new LRUCache<string, VerifiedToken>({ max: REMEMBERED_TOKENS });
  private hits = 0;
  private misses = 0;

  constructor(
    private readonly bearer: BearerStrategy,
    private readonly basic: BasicStrategy,
    private readonly failedLogins: FailedLogins,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Who sends a request, where that can be told at once: undefined is for `authenticate` to find out. */
  recall(request: IncomingMessage): Principal | null | undefined {
    const header = authorizationOf(request);
    if (header === null) return null;
    if (header === undefined || BASIC.test(header)) return undefined;
    const credentials = AUTHORIZATION.exec(header)?.[2];
    if (credentials === undefined) return undefined;
    const remembered = this.verified.get(keyOf('Bearer', credentials));
    if (remembered === undefined || !isBelieved(remembered)) return undefined;
    this.hits++;
    return remembered.principal;
  }

  /**
   * @param address where the request comes from
   * @returns null when no token was sent
   * @throws UnauthenticatedError when the one that was sent is bad, wherever it would have been needed
   * @throws ServiceError RATE_LIMITED when too many secrets of the account, or anything from the address, were wrong
   * @throws ServiceUnavailableError when that cannot be told at the moment
   */
  async authenticate(request: IncomingMessage, address: string): Promise<Principal | null> {
    const header = authorizationOf(request);
    if (header === null) return null;
    if (header === undefined) throw UnauthenticatedError.malformedHeader();
    if (BASIC.test(header)) refuseCrossSite(request);
    const [, name, credentials] = AUTHORIZATION.exec(header) ?? [];
    if (name === undefined || credentials === undefined) throw UnauthenticatedError.malformedHeader();
    const scheme = name.toLowerCase() === 'bearer' ? 'Bearer' : 'Basic';
    const key = keyOf(scheme, credentials);
    const remembered = this.verified.get(key);
    if (remembered !== undefined && isBelieved(remembered)) {
      this.hits++;
      return remembered.principal;
    }
    this.misses++;

    const authorization = `${scheme} ${credentials}`;
    if (scheme === 'Basic') this.refuseDemonstration(authorization, request);
    const token =
      scheme === 'Bearer'
        ? await run(this.bearer, { headers: { authorization }, ip: address })
        : await this.logIn(authorization, address);
    if (isBelieved(token)) this.verified.set(key, token);
    return token.principal;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, verified } = this;
    return { hits, misses, entries: verified.size, bytes: null };
  }

  /** The token of the demonstration is for this machine. With an external issuer the id has no meaning of its own. */
  private refuseDemonstration(authorization: string, { headers }: IncomingMessage): void {
    if (this.config.auth.issuer !== null || readBasic(authorization)?.id !== DEMO_ACCOUNT) return;
    if (!mayUseEmbedded(this.config, headers.host)) throw new ServiceError('FORBIDDEN', EMBEDDED_REFUSAL);
  }

  /** A secret can be guessed at; what an access token is made of cannot, and one that has expired is no attack. */
  private async logIn(authorization: string, address: string): Promise<VerifiedToken> {
    // Begun before anything is looked up: when it is over tells nothing of what was found.
    const earliest = sleep(EARLIEST_REFUSAL);
    const id = readBasic(authorization)?.id;
    try {
      return await this.failedLogins.guard(
        { account: id === undefined ? null : `service-account:${id}`, address },
        () => run(this.basic, { headers: { authorization }, ip: address }),
        isRefusal,
      );
    } catch (error) {
      if (isRefusal(error)) await earliest;
      throw error;
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof UnauthenticatedError;
}

function isBelieved({ cacheFrom, cacheUntil }: VerifiedToken): boolean {
  const now = Date.now();
  return cacheFrom <= now && now < cacheUntil;
}

/** One for each token, however the scheme is written and whatever spaces follow it. */
function keyOf(scheme: 'Bearer' | 'Basic', credentials: string): string {
  return hash('sha256', `${scheme} ${credentials}`, 'base64');
}

/**
 * Null: there is none. Undefined: there are several, of which Node keeps the first; they might mean different callers.
 */
function authorizationOf({ headers, rawHeaders }: IncomingMessage): string | null | undefined {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === AUTHORIZATION_NAME.length && name.toLowerCase() === AUTHORIZATION_NAME) count++;
  }
  if (count > 1) return undefined;
  return headers.authorization ?? null;
}

/** A browser remembers Basic credentials and adds them to what other sites ask for, which is never meant. */
function refuseCrossSite({ headers }: IncomingMessage): void {
  if (headers['sec-fetch-site'] === 'cross-site') {
    throw new ServiceError(
      'FORBIDDEN',
      'A page of another site cannot use a service account: send an access token',
    );
  }
}

/** What a strategy sees of a request. */
interface Presented {
  readonly headers: { readonly authorization: string };
  /** The address that it comes from. */
  readonly ip: string;
}

/**
 * Runs one Passport strategy. Passport's own middleware would do the same and also equip every request with
 * sessions, which we do not have; this is the protocol that it speaks with a strategy (passport-strategy).
 */
function run(strategy: Strategy, request: Presented): Promise<VerifiedToken> {
  return new Promise((resolve, reject) => {
    const attempt = Object.assign(Object.create(strategy) as { authenticate(request: Presented): void }, {
      success: resolve,
      fail: () => {
        reject(UnauthenticatedError.malformedHeader());
      },
      error: reject,
    });
    attempt.authenticate(request);
  });
}
