import type { Context, ProviderContext } from 'oidc-provider/lib/provider.js';
import type { CodeKind, WrongCodes } from '../limits/wrong-codes.js';
import type { ProviderLogins } from './logins.js';
import { messagePage, sendPage } from './pages/pages.js';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

/** Limits guesses at the codes of the device flow (RFC 8628 §5.1), by the address that they come from. */
export class DeviceCodes {
  constructor(
    private readonly wrong: Pick<WrongCodes, 'count' | 'wait'>,
    private readonly logins: Pick<ProviderLogins, 'addressOf'>,
  ) {}

  /**
   * Whether the address has typed too many wrong codes: then the page that says so is the answer. It is asked before a
   * code is looked up, and again when one was right: many guesses can be under way at once.
   */
  async refuses(context: Context): Promise<boolean> {
    return this.refuse(context, await this.wrong.wait('user-code', this.logins.addressOf(context)));
  }

  /** Counts a wrong code that a person typed. @returns whether it was one too many, and the page says so */
  async refusesWrong(context: Context): Promise<boolean> {
    return this.refuse(context, await this.count('user-code', context));
  }

  /** Counts a wrong code of a device, once the token endpoint has answered. A right one is never refused: nobody guesses it. */
  async judgeAnswer(context: Context): Promise<void> {
    const { oidc } = context as Partial<ProviderContext>;
    const { error } = (context.body ?? {}) as { error?: string };
    if (error !== 'invalid_grant' || oidc?.params.grant_type !== GRANT_TYPE) return;
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
