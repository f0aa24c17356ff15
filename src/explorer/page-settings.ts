import type { ScopeDefinition } from '../config/scopes.js';

/** Settings of the service for the page of the explorer, which contains them as JSON. */
export interface PageSettings {
  /** The path of the service on the origin of the page, such as `/school`. */
  readonly basePath: string;
  /** URL under which clients reach the service. Signed URLs of pictures begin with it. */
  readonly baseUrl: string;
  readonly introspection: boolean;
  readonly scopes: readonly ScopeDefinition[];
  /** How users sign in. Null: they cannot. */
  readonly signIn: SignInSettings | null;
  /** Token of the demonstration account, in development. Null: there is none, or it must not be shown. */
  readonly demoToken: string | null;
}

export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** URL to which the provider redirects after signing out. Null: there is no redirect. */
  readonly signedOutUri: string | null;
  /** Audience for providers that require one in the request. Null: the provider does not. */
  readonly audience: string | null;
}

/** Ids of the element with the settings, and of that into which the page is rendered. */
export const SETTINGS_ELEMENT = 'settings';
export const ROOT_ELEMENT = 'explorer';
