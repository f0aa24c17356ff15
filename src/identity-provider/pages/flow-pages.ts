import type { Configuration, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import type { DeviceCodes } from '../device-codes.js';
import { deviceCodePage, deviceConfirmPage, messagePage, sendPage, signOutPage } from './pages.js';

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
