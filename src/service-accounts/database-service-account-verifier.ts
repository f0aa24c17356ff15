import { Injectable, Logger } from '@nestjs/common';
import { UnauthenticatedError } from '../auth/authentication.error.js';
import type { Principal } from '../auth/principal.js';
import { isScope } from '../auth/scopes.js';
import { ServiceAccountVerifier } from '../auth/service-account-verifier.js';
import type { VerifiedToken } from '../auth/tokens/token-verifier.js';
import { Database } from '../database/database.js';
import { isOneOf } from './secret.js';
import { FIND_LIVE, type LiveRow, NOTE_USE } from './service-account.queries.js';

/** Milliseconds between two notes of an account's use. */
const USE_INTERVAL = 60_000;

const NOBODY: LiveRow = [null, [], null, null, []];

/** Verifies the tokens of service accounts against their rows, each time: a revoked one is refused at once. */
@Injectable()
export class DatabaseServiceAccountVerifier extends ServiceAccountVerifier {
  private readonly logger = new Logger(DatabaseServiceAccountVerifier.name);

  constructor(private readonly database: Database) {
    super();
  }

  override async verify(id: string, secret: string): Promise<VerifiedToken> {
    const now = new Date();
    // PostgreSQL's text has no NUL, and no id has one.
    const rows = id.includes('\0') ? [] : await this.database.read<LiveRow>(FIND_LIVE, [id, now]);
    const [known, scopes, expiresAt, lastUsedAt, hashes] = rows[0] ?? NOBODY;
    if (!isOneOf(secret, hashes) || known === null) throw UnauthenticatedError.badServiceAccount();
    if (now.getTime() - (lastUsedAt?.getTime() ?? 0) > USE_INTERVAL) this.noteUse(id, now);
    return { principal: principalOf(id, scopes, expiresAt), cacheFrom: 0, cacheUntil: 0 };
  }

  /** Nobody waits for the note, and a lost one is no harm. */
  private noteUse(id: string, now: Date): void {
    this.database.read(NOTE_USE, [id, now]).catch((error: unknown) => {
      this.logger.warn(`The use of service account ${id} was not noted: ${String(error)}`);
    });
  }
}

function principalOf(id: string, scopes: string[], expiresAt: Date | null): Principal {
  return Object.freeze({
    kind: 'SERVICE_ACCOUNT_TOKEN',
    countedAs: `service-account:${id}`,
    scopes: new Set(scopes.filter(isScope)),
    clientId: null,
    subject: null,
    serviceAccountId: id,
    expiresAt,
  });
}
