import { setting, type ValuesOf } from '../setting.js';
import { httpUrl, text, trueOrFalse } from '../value-kinds.js';

/** The page on which clients are tried. */
export const EXPLORER_SETTINGS = {
  EXPLORER: setting(trueOrFalse.optional(), 'Whether the explorer is served. Default: not in production'),
  EXPLORER_CLIENT_ID: setting(
    text.optional(),
    'Client with which people sign in to the explorer. Default with the embedded provider: explorer',
  ),
  EXPLORER_REDIRECT_URI: setting(
    httpUrl.optional(),
    'Where they come back to: BASE_URL/explorer/callback, the default, or BASE_URL/explorer',
  ),
};

export interface ExplorerConfig {
  /** A public client of the identity provider; null: nobody can sign in. */
  readonly clientId: string | null;
  readonly redirectUri: string;
}

/** @returns null: it is not served */
export function buildExplorer(
  settings: ValuesOf<typeof EXPLORER_SETTINGS>,
  service: { readonly baseUrl: string; readonly production: boolean; readonly issuer: string | null },
): ExplorerConfig | null {
  if (!(settings.EXPLORER ?? !service.production)) return null;
  return {
    clientId: settings.EXPLORER_CLIENT_ID ?? (service.issuer === null ? 'explorer' : null),
    redirectUri: settings.EXPLORER_REDIRECT_URI ?? explorerAddresses(service.baseUrl)[0],
  };
}

/** Where the explorer can be found, and so where people can come back to. */
export function explorerAddresses(baseUrl: string): [callback: string, page: string] {
  return [`${baseUrl}/explorer/callback`, `${baseUrl}/explorer`];
}
