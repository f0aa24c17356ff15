import type { Configuration, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { deviceCodePage, deviceConfirmPage, messagePage, sendPage, signOutPage } from './pages.js';
import type { Context } from 'koa';
import type { CodeKind, WrongCodes } from '../../limits/failed-logins.js';
import type { ProviderLogins } from '../logins.js';
import { DEVICE_CODE } from '../clients.js';

type Features = NonNullable<Configuration['features']>;

/** Messages by the name of the error of oidc-provider. */
const PROBLEMS: Readonly<Record<string, string>> = {
  NoCodeError: 'Type the code that your device shows.',
  NotFoundError: 'No device shows this code.',
  ExpiredError: 'This code has expired. Ask your device for a new one.',
  AlreadyUsedError: 'This code has been used already. Ask your device for a new one.',
};
/** Errors of oidc-provider for a code that no waiting device has. */
const WRONG_CODE = new Set(['NotFoundError', 'ExpiredError', 'AlreadyUsedError']);

/** The pages of the device flow (RFC 8628 §3.3). The forms of oidc-provider have no labels. */
export const deviceFlowPages = (codes: DeviceCodes): Features['deviceFlow'] => ({
  async userCodeInputSource(context, _form, _output, error?: Error & { userCode?: string }) {
    if (error !== undefined && WRONG_CODE.has(error.name) && (await codes.refusesWrong(context))) return;
    if (error?.name === 'AbortedError') {
      sendPage(context, 200, messagePage('Cancelled', 'The device has not been connected.'));
      return;
    }
    const form = deviceForm(context, error?.userCode ?? '');
    if (error === undefined) {
      sendPage(context, 200, deviceCodePage(form));
      return;
    }
    const problem = PROBLEMS[error.name] ?? 'This did not work. Ask your device for a new code.';
    sendPage(context, 400, deviceCodePage(form, problem));
  },

  async userCodeConfirmSource(context, _form, client, _deviceInfo, userCode) {
    if (await codes.refuses(context)) return;
    const application = client.clientName ?? client.clientId;
    sendPage(context, 200, deviceConfirmPage(deviceForm(context, userCode), application));
  },

  successSource(context) {
    sendPage(context, 200, messagePage('Connected', 'Your device is connected. You can close this page.'));
  },
});

/** The pages of signing out (OpenID Connect RP-Initiated Logout 1.0 §2). */
export const signOutPages: Features['rpInitiatedLogout'] = {
  logoutSource(context) {
    const action = context.oidc.urlFor('end_session_confirm');
    const { client } = context.oidc;
    const application = client === undefined ? null : (client.clientName ?? client.clientId);
    sendPage(context, 200, signOutPage({ action, secret: secretOf(context) }, application));
  },

  postLogoutSuccessSource(context) {
    sendPage(context, 200, messagePage('Signed out', 'You are signed out. You can close this page.'));
  },
};

/** The page for errors that cannot be sent to an application, such as an unregistered application. */
export function renderError(context: KoaContextWithOIDC, { error, error_description }: ErrorOut): void {
  const reason = error_description === undefined ? error : `${error}: ${error_description}`;
  sendPage(context, context.status, messagePage('This did not work', reason));
}

function deviceForm(context: KoaContextWithOIDC, userCode: string) {
  return { action: context.oidc.urlFor('code_verification'), secret: secretOf(context), userCode };
}

function secretOf({ oidc }: KoaContextWithOIDC): string {
  const { secret } = (oidc.session?.state ?? {}) as { secret?: string };
  return secret ?? '';
}

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
