import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import DataLoader from 'dataloader';
import pLimit from 'p-limit';
import { IsNull, LessThan, MoreThan, Or, Repository } from 'typeorm';
import { UnauthenticatedError } from '../auth/authentication.error.js';
import { knownScopes, type Principal } from '../auth/principal.js';
import { ServiceAccountVerifier } from '../auth/strategies.js';
import type { VerifiedToken } from '../auth/tokens/token-verifier.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { isOneOf } from './secret.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { IS_COMPLETE, statement } from '../database/statements/statement.js';

/**
 * Service accounts by their ids, and the hashes of their valid secrets. An unknown, expired or revoked account also gives a
 * row, without an id and with the same amount of data, because the duration of a rejection must not reveal which accounts
 * exist.
 */
const FIND_LIVE = statement(`
  select asked.id, account.id, coalesce(account.scopes, '{read}'), account.expires_at, account.last_used_at,
    coalesce(nullif(array(
      select secret.sha256 from service_account_secrets secret
      where secret.service_account_id = asked.id and (secret.expires_at is null or secret.expires_at > $2)
    ), '{}'), array[decode(repeat('00', 32), 'hex')]), account.limited_to
  from unnest($1::text[]) as asked (id)
  left join service_accounts account on account.id = asked.id
    and account.revoked_at is null and (account.expires_at is null or account.expires_at > $2)
  where ${IS_COMPLETE}`);

type LiveRow = [
  asked: string,
  id: string | null,
  scopes: string[],
  expiresAt: Date | null,
  lastUsedAt: Date | null,
  hashes: Buffer[],
  limitedTo: string[] | null,
];

/** Statements that run at the same time. With one, a lost connection would hold up every account. */
const MAX_STATEMENTS = 2;
/** Accounts that one statement looks up. */
const MAX_ACCOUNTS = 100;

/**
 * Looks up service accounts, several with one statement. Each request with a secret needs a lookup, also one from an address
 * with too many failed logins, whose secret may be right. While MAX_STATEMENTS run, later requests wait for the next
 * one together, so that a flood of wrong secrets does not take the connections of the database. Nothing is remembered: a
 * lookup sees every change that was committed before it was requested.
 */
class LiveAccounts {
  private readonly limit = pLimit(MAX_STATEMENTS);
  private latest: Promise<unknown> = Promise.resolve();
  private readonly loader = new DataLoader<string, LiveRow | null>((ids) => this.read(ids), {
    cache: false,
    maxBatchSize: MAX_ACCOUNTS,
    batchScheduleFn: (send) =>
      void this.limit(async () => {
        // With all that arrive in this turn.
        await nextTurn();
        send();
        await this.latest.catch(() => undefined);
      }),
  });

  constructor(private readonly database: Pick<Database, 'read'>) {}

  /** @returns null if the id cannot be that of an account */
  async find(id: string): Promise<LiveRow | null> {
    // PostgreSQL's text cannot contain NUL, and no id does.
    return id.includes('\0') ? null : this.loader.load(id);
  }

  private async read(ids: readonly string[]): Promise<(LiveRow | null)[]> {
    const found = this.database.read<LiveRow>(FIND_LIVE, [[...new Set(ids)], new Date()]);
    this.latest = found;
    const byId = new Map((await found).map((row) => [row[0], row]));
    return ids.map((id) => byId.get(id) ?? null);
  }
}

/** Time between two updates of `lastUsedAt`. */
const USE_INTERVAL_MS = 60_000;

const UNKNOWN: LiveRow = ['', null, [], null, null, [], null];

/** Verifies the tokens of service accounts in the database, for each request: a revoked account is rejected at once. */
@Injectable()
export class DatabaseServiceAccountVerifier extends ServiceAccountVerifier {
  private readonly logger = new Logger(DatabaseServiceAccountVerifier.name);

  private readonly live: LiveAccounts;
  /** Accounts whose use is being noted: requests that arrive meanwhile must not take further connections. */
  private readonly noting = new Set<string>();

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
    if (Math.abs(now.getTime() - (lastUsedAt?.getTime() ?? 0)) > USE_INTERVAL_MS) this.noteUse(id, now);
    const principal = principalOf(id, knownScopes(scopes, this.config.scopes), { expiresAt, limitedTo });
    return { principal, cacheFor: 0 };
  }

  /** The request does not wait for the update, and a lost one does no harm. Other processes may have noted the use. */
  private noteUse(id: string, now: Date): void {
    if (this.noting.has(id)) return;
    this.noting.add(id);
    const before = new Date(now.getTime() - USE_INTERVAL_MS);
    // A later time is from a clock that was ahead.
    const after = new Date(now.getTime() + USE_INTERVAL_MS);
    const isOld = Or(IsNull(), LessThan(before), MoreThan(after));
    this.accounts
      .update({ id, lastUsedAt: isOld }, { lastUsedAt: now })
      .catch((error: unknown) => {
        this.logger.warn(`The use of service account ${id} was not recorded: ${String(error)}`);
      })
      .finally(() => this.noting.delete(id));
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
