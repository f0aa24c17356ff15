import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, LessThan, Or, Repository } from 'typeorm';
import { UnauthenticatedError } from '../auth/authentication.error.js';
import { knownScopes, type Principal } from '../auth/principal.js';
import { ServiceAccountVerifier } from '../auth/strategies.js';
import type { VerifiedToken } from '../auth/tokens/token-verifier.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { isOneOf } from './secret.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { LiveAccounts } from './live-accounts.js';
import type { LiveRow } from './service-account.queries.js';

/** Time between two updates of `lastUsedAt`. */
const USE_INTERVAL_MS = 60_000;

const UNKNOWN: LiveRow = ['', null, [], null, null, [], null];

/** Verifies the tokens of service accounts in the database, for each request: a revoked account is rejected at once. */
@Injectable()
export class DatabaseServiceAccountVerifier extends ServiceAccountVerifier {
  private readonly logger = new Logger(DatabaseServiceAccountVerifier.name);

  private readonly live: LiveAccounts;

  constructor(
    database: Database,
    @Inject(CONFIG) private readonly config: Config,
    @InjectRepository(ServiceAccountEntity) private readonly accounts: Repository<ServiceAccountEntity>,
  ) {
    super();
    this.live = new LiveAccounts(database);
  }

  override async verify(id: string, secret: string): Promise<VerifiedToken> {
    const now = new Date();
    const [, known, scopes, expiresAt, lastUsedAt, hashes, limitedTo] = (await this.live.find(id)) ?? UNKNOWN;
    if (!isOneOf(secret, hashes) || known === null) throw UnauthenticatedError.badServiceAccount();
    if (now.getTime() - (lastUsedAt?.getTime() ?? 0) > USE_INTERVAL_MS) this.noteUse(id, now);
    return {
      principal: principalOf(id, knownScopes(scopes, this.config.scopes), { expiresAt, limitedTo }),
      cacheFrom: 0,
      cacheUntil: 0,
    };
  }

  /** The request does not wait for the update, and a lost one does no harm. Other processes may have noted the use. */
  private noteUse(id: string, now: Date): void {
    const before = new Date(now.getTime() - USE_INTERVAL_MS);
    this.accounts
      .update({ id, lastUsedAt: Or(IsNull(), LessThan(before)) }, { lastUsedAt: now })
      .catch((error: unknown) => {
        this.logger.warn(`The use of service account ${id} was not recorded: ${String(error)}`);
      });
  }
}

function principalOf(
  id: string,
  scopes: string[],
  { expiresAt, limitedTo }: Pick<Principal, 'expiresAt' | 'limitedTo'>,
): Principal {
  return Object.freeze({
    kind: 'SERVICE_ACCOUNT_TOKEN',
    countedAs: `service-account:${id}`,
    scopes: new Set(scopes),
    clientId: null,
    subject: null,
    serviceAccountId: id,
    expiresAt,
    ...(limitedTo ? { limitedTo } : {}),
  });
}
