import { setting, type ValuesOf } from '../setting.js';
import { httpUrl, text, trueOrFalse } from '../value-kinds.js';

export const EXPLORER_SETTINGS = {
  EXPLORER: setting(
    trueOrFalse.optional(),
    'Serves the explorer. Default: false in production and while TRUSTED_DOCUMENTS is enforced, otherwise true.',
  ),
  EXPLORER_CLIENT_ID: setting(
    text.optional(),
    'Client id of the explorer at the identity provider. Default with the embedded provider: explorer.',
  ),
  EXPLORER_REDIRECT_URI: setting(
    httpUrl.optional(),
    'Redirect URI of the explorer: BASE_URL/explorer/callback (default) or BASE_URL/explorer.',
  ),
};

export interface ExplorerConfig {
  /** A public client of the identity provider. Null: the explorer offers no sign-in. */
  readonly clientId: string | null;
  readonly redirectUri: string;
}

/** @returns null when the explorer is not served */
export function buildExplorer(
  settings: ValuesOf<typeof EXPLORER_SETTINGS>,
  service: { readonly baseUrl: string; readonly isDefault: boolean; readonly issuer: string | null },
): ExplorerConfig | null {
  if (!(settings.EXPLORER ?? service.isDefault)) return null;
  return {
    clientId: settings.EXPLORER_CLIENT_ID ?? (service.issuer === null ? 'explorer' : null),
    redirectUri: settings.EXPLORER_REDIRECT_URI ?? explorerAddresses(service.baseUrl)[0],
  };
}

/** Returns the addresses of the explorer, which are also its redirect URIs. */
export function explorerAddresses(baseUrl: string): [callback: string, page: string] {
  return [`${baseUrl}/explorer/callback`, `${baseUrl}/explorer`];
}
