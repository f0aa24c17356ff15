import type { Configuration, ProviderContext } from 'oidc-provider/lib/provider.js';
import type { DeviceCodes } from '../device-codes.js';
import {
  deviceCodePage,
  deviceConfirmPage,
  type DeviceForm,
  messagePage,
  sendPage,
  signOutPage,
} from './pages.js';

type DeviceFlow = Configuration['features']['deviceFlow'];
type SignOut = Configuration['features']['rpInitiatedLogout'];

/** Errors of oidc-provider for a code that no waiting device has. */
const WRONG_CODE = new Set(['NotFoundError', 'ExpiredError', 'AlreadyUsedError']);

/**
 * The pages of the device flow (RFC 8628 §3.3). They replace the forms of oidc-provider, which have no
 * labels.
 */
export const deviceFlowPages = (
  codes: DeviceCodes,
): Pick<DeviceFlow, 'userCodeInputSource' | 'userCodeConfirmSource' | 'successSource'> => ({
  async userCodeInputSource(context, _form, _output, error) {
    if (error !== undefined && WRONG_CODE.has(error.name) && (await codes.refusesWrong(context))) return;
    if (error?.name === 'AbortedError') {
      sendPage(context, 200, messagePage('Cancelled', 'The device has not been connected.'));
      return;
    }
    const status = error === undefined ? 200 : 400;
    const page = deviceCodePage(deviceForm(context, error?.userCode ?? ''), problemOf(error));
    sendPage(context, status, page);
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
export const signOutPages: Pick<SignOut, 'logoutSource' | 'postLogoutSuccessSource'> = {
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

/**
 * The error page for errors that cannot be sent to an application, such as an unregistered application or an
 * outdated link.
 */
export const renderError: Configuration['renderError'] = (context, { error, error_description }) => {
  const reason = error_description === undefined ? error : `${error}: ${error_description}`;
  sendPage(context, context.status, messagePage('This did not work', reason));
};

function deviceForm(context: ProviderContext, userCode: string): DeviceForm {
  return { action: context.oidc.urlFor('code_verification'), secret: secretOf(context), userCode };
}

function secretOf({ oidc }: ProviderContext): string {
  return oidc.session?.state?.secret ?? '';
}

function problemOf(error: Error | undefined): string | undefined {
  switch (error?.name) {
    case undefined:
      return undefined;
    case 'NoCodeError':
      return 'Type the code that your device shows.';
    case 'NotFoundError':
      return 'No device shows this code.';
    case 'ExpiredError':
      return 'This code has expired. Ask your device for a new one.';
    case 'AlreadyUsedError':
      return 'This code has been used already. Ask your device for a new one.';
    default:
      return 'This did not work. Ask your device for a new code.';
  }
}
