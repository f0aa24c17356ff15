import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js';
import { ServiceError } from '../common/errors.js';
import type { FailedLogins } from '../limits/failed-logins.js';

/** Too many logins have failed: status 429. RFC 6749 has no code for it. This one says that a retry may succeed. */
export class LockedError extends OIDCProviderError {
  override readonly error_description = 'too many logins have failed for this account, or from this address';

  constructor() {
    super(429, 'temporarily_unavailable');
  }
}

/** Counts failed logins of users and clients together with those of service accounts. */
export class ProviderLogins {
  /** Client addresses by request, because the provider itself sees only the address of the last proxy. */
  private readonly addresses = new WeakMap<IncomingMessage, string>();

  constructor(private readonly failedLogins: Pick<FailedLogins, 'fail' | 'rejectLocked'>) {}

  noteAddress(request: IncomingMessage, address: string): void {
    this.addresses.set(request, address);
  }

  addressOf({ req }: Pick<Context, 'req'>): string {
    return this.addresses.get(req) ?? '';
  }

  /**
   * Must be called for every login, as soon as its result is known.
   * @throws LockedError, for which Retry-After is set
   */
  async judge(context: Context, isGood: boolean): Promise<void> {
    const address = this.addressOf(context);
    try {
      await (isGood ? this.failedLogins.rejectLocked(address) : this.failedLogins.fail(address));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      context.set('Retry-After', String(error.details.retryAfter ?? 1));
      throw new LockedError();
    }
  }

  /** Counts an attempt of a nonexistent client against its address. */
  async judgeUnknownClient(context: Context): Promise<void> {
    const { oidc } = context as Partial<KoaContextWithOIDC>;
    const { error } = (context.body ?? {}) as { error?: string };
    if (error !== 'invalid_client' || context.status !== 401 || oidc?.client !== undefined) return;
    try {
      await this.judge(context, false);
    } catch (locked) {
      if (!(locked instanceof LockedError)) throw locked;
      context.status = 429;
      context.body = { error: locked.message, error_description: locked.error_description };
    }
  }
}
