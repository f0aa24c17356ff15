import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../common/errors.js';
import { countFields } from '../http/malformed-requests.js';
import { UnauthenticatedError } from './authentication.error.js';
import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../common/cache-statistics.js';
import type { VerifiedToken } from './tokens/token-verifier.js';

/** What an Authorization header contains (RFC 9110 §11.4). */
export interface Credentials {
  readonly scheme: 'Bearer' | 'Basic';
  /** The token68 of RFC 9110 §11.2. */
  readonly token: string;
}

const BASIC = /^Basic\b/i;
/** One scheme, spaces and one token, and nothing else. */
const AUTHORIZATION = /^(Bearer|Basic) +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Reads the credentials of a request; null if it has none.
 * @throws UnauthenticatedError if the header is malformed or there are several
 * @throws ServiceError FORBIDDEN if a page of another site sends Basic credentials
 */
export function readAuthorization(request: IncomingMessage): Credentials | null {
  // Node keeps the first of several headers, and they may name different principals.
  if (countFields(request.rawHeaders, 'authorization') > 1) throw UnauthenticatedError.malformedHeader();
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  // A browser remembers Basic credentials and adds them to the requests of other sites, which is never intended.
  if (BASIC.test(authorization) && request.headers['sec-fetch-site'] === 'cross-site') {
    throw new ServiceError(
      'FORBIDDEN',
      'A page of another site cannot use a service account: send an access token',
    );
  }
  const [, scheme, token] = AUTHORIZATION.exec(authorization) ?? [];
  if (scheme === undefined || token === undefined) throw UnauthenticatedError.malformedHeader();
  return { scheme: scheme.toLowerCase() === 'bearer' ? 'Bearer' : 'Basic', token };
}

/** Splits Basic credentials at the first colon (RFC 7617 §2); null if they are malformed. */
export function parseBasic(token: string): { id: string; secret: string } | null {
  const bytes = Buffer.from(token, 'base64');
  // Node skips characters that are not Base64 (RFC 4648 §3.3 requires an error), so each token has one spelling only.
  if (bytes.toString('base64') !== token) return null;
  const decoded = bytes.toString();
  const colon = decoded.indexOf(':');
  return colon < 0 ? null : { id: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}

/** One entry takes about a kilobyte. */
const MAX_TOKENS = 10_000;

/** Verified tokens, by the SHA-256 of scheme and token: the tokens themselves are not stored. */
@Injectable()
export class TokenCache {
  private readonly verified = new LRUCache<string, VerifiedToken>({ max: MAX_TOKENS });
  private hits = 0;
  private misses = 0;

  find(credentials: Credentials): VerifiedToken | undefined {
    const token = this.verified.get(keyOf(credentials));
    if (token === undefined || !isValid(token)) return undefined;
    this.hits++;
    return token;
  }

  /** The cached token, or else the verified one, which is cached for as long as it says. */
  async findOrVerify(credentials: Credentials, verify: () => Promise<VerifiedToken>): Promise<VerifiedToken> {
    const cached = this.find(credentials);
    if (cached !== undefined) return cached;
    this.misses++;
    const token = await verify();
    if (isValid(token)) this.verified.set(keyOf(credentials), token);
    return token;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, verified } = this;
    return { hits, misses, entries: verified.size, bytes: null };
  }
}

/** The same for each spelling of the scheme and any number of spaces. */
function keyOf({ scheme, token }: Credentials): string {
  return hash('sha256', `${scheme} ${token}`, 'base64');
}

function isValid({ cacheFrom, cacheUntil }: VerifiedToken): boolean {
  const now = Date.now();
  return cacheFrom <= now && now < cacheUntil;
}
