import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { CodeKind, WrongCodes } from '../limits/failed-logins.js';
import type { ProviderLogins } from './logins.js';
import { DEVICE_CODE } from './clients.js';
import { messagePage, sendPage } from './pages/pages.js';

/** Limits guesses at the codes of the device flow (RFC 8628 §5.1), per client address. */
export class DeviceCodes {
  constructor(
    private readonly wrong: Pick<WrongCodes, 'count' | 'wait'>,
    private readonly logins: Pick<ProviderLogins, 'addressOf'>,
  ) {}

  /**
   * Returns whether the address has entered too many wrong codes; the page that says so is then the response.
   * It is called before a code is looked up and after a correct one, because many guesses can be in progress at once.
   */
  async refuses(context: Context): Promise<boolean> {
    return this.refuse(context, await this.wrong.wait('user-code', this.logins.addressOf(context)));
  }

  /**
   * Counts a wrong code that a user entered.
   * @returns whether it exceeds the limit; the page that says so is then the response
   */
  async refusesWrong(context: Context): Promise<boolean> {
    return this.refuse(context, await this.count('user-code', context));
  }

  /** Counts a wrong device code after the token endpoint has responded. A correct one is never rejected. */
  async judgeAnswer(context: Context): Promise<void> {
    const { oidc } = context as Partial<KoaContextWithOIDC>;
    const { error } = (context.body ?? {}) as { error?: string };
    if (error !== 'invalid_grant' || oidc?.params?.['grant_type'] !== DEVICE_CODE) return;
    const seconds = await this.count('device-code', context);
    if (seconds === null) return;
    context.status = 429;
    context.set('Retry-After', String(seconds));
    context.body = {
      error: 'temporarily_unavailable',
      error_description: 'too many wrong device codes have come from this address',
    };
  }

  private count(kind: CodeKind, context: Context): Promise<number | null> {
    return this.wrong.count(kind, this.logins.addressOf(context));
  }

  private refuse(context: Context, seconds: number | null): boolean {
    if (seconds === null) return false;
    context.set('Retry-After', String(seconds));
    sendPage(context, 429, messagePage('Too many wrong codes', 'Try again in a quarter of an hour.'));
    return true;
  }
}
