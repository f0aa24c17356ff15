import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import pLimit from 'p-limit';
import { Repository } from 'typeorm';
import { UnauthenticatedError } from '../auth/authentication.error.js';
import { knownScopes } from '../auth/principal.js';
import { ServiceAccountVerifier } from '../auth/strategies.js';
import type { VerifiedToken } from '../auth/tokens/token-verifier.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { statement } from '../database/statements/statement.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { hashSecret } from './service-accounts.service.js';

/** Valid secrets with their accounts. The view mirror_state rejects the statement while the database is being restored. */
const FIND_LIVE = statement(`
  select asked.hash, account.id, account.scopes, account.expires_at, account.last_used_at, account.limited_to
  from unnest($1::text[]) asked (hash)
  join service_account_secrets secret on secret.sha256 = decode(asked.hash, 'hex')
  join service_accounts account on account.id = secret.service_account_id
  where (secret.expires_at is null or secret.expires_at > $2) and account.revoked_at is null
    and (account.expires_at is null or account.expires_at > $2) and exists (select from mirror_state)`);

type LiveRow = [
  hash: string,
  id: string,
  scopes: string[],
  expiresAt: Date | null,
  lastUsedAt: Date | null,
  limitedTo: string[] | null,
];

/** Statements that run at the same time. With one, a lost connection would hold up every account. */
const MAX_STATEMENTS = 2;
/** Time between two updates of `lastUsedAt`. */
const USE_INTERVAL_MS = 60_000;

/**
 * Verifies the tokens of service accounts in the database, for each request: a revoked account is rejected at once. While
 * MAX_STATEMENTS run, later requests wait for the next one together, so that a flood of wrong secrets does not take the
 * connections of the database.
 */
@Injectable()
export class DatabaseServiceAccountVerifier extends ServiceAccountVerifier {
  private readonly logger = new Logger(DatabaseServiceAccountVerifier.name);
  private readonly limit = pLimit(MAX_STATEMENTS);
  /** The hashes of the next statement, and its result. */
  private next: { readonly hashes: Set<string>; readonly rows: Promise<Map<string, LiveRow>> } | null = null;
  /** Accounts whose use is being noted: requests that arrive meanwhile must not take further connections. */
  private readonly noting = new Set<string>();

  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
    @InjectRepository(ServiceAccountEntity) private readonly accounts: Repository<ServiceAccountEntity>,
  ) {
    super();
  }

  override async verify(id: string, secret: string): Promise<VerifiedToken> {
    const now = new Date();
    const found = (await this.find(hashSecret(secret).toString('hex'))) ?? [];
    const [, owner, scopes = [], expiresAt = null, lastUsedAt, limitedTo] = found;
    if (owner !== id) throw UnauthenticatedError.badServiceAccount();
    if (Math.abs(now.getTime() - (lastUsedAt?.getTime() ?? 0)) > USE_INTERVAL_MS) this.noteUse(id, now);
    const principal = Object.freeze({
      kind: 'SERVICE_ACCOUNT_TOKEN' as const,
      countedAs: `service-account:${id}`,
      scopes: new Set(knownScopes(scopes, this.config.scopes)),
      clientId: null,
      subject: null,
      serviceAccountId: id,
      expiresAt,
      ...(limitedTo ? { limitedTo } : {}),
    });
    return { principal, cacheFor: 0 };
  }

  private async find(hash: string): Promise<LiveRow | undefined> {
    if (this.next === null) {
      const hashes = new Set<string>();
      const rows = this.limit(async () => {
        // Later requests need another statement, which sees what was committed before them.
        this.next = null;
        const found = await this.database.read<LiveRow>(FIND_LIVE, [[...hashes], new Date()]);
        return new Map(found.map((row) => [row[0], row]));
      });
      this.next = { hashes, rows };
    }
    this.next.hashes.add(hash);
    return (await this.next.rows).get(hash);
  }

  /** The request does not wait for the update, and a lost one does no harm. */
  private noteUse(id: string, now: Date): void {
    if (this.noting.has(id)) return;
    this.noting.add(id);
    this.accounts
      .update({ id }, { lastUsedAt: now })
      .catch((error: unknown) => {
        this.logger.warn(`The use of service account ${id} was not recorded: ${String(error)}`);
      })
      .finally(() => this.noting.delete(id));
  }
}
