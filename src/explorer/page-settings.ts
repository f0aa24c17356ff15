/** What the page of the explorer is told about the service: it stands in it as JSON. */
export interface PageSettings {
  /** Path of the GraphQL endpoint, on the origin of the page. */
  readonly endpoint: string;
  /** Under which URL clients reach the service: signed URLs of pictures begin with it. */
  readonly baseUrl: string;
  /** Path of the start page. */
  readonly startPage: string;
  /** Path of the reference; null: there is none. */
  readonly reference: string | null;
  /** Whether the schema describes itself. */
  readonly introspection: boolean;
  /** Scopes that a token can have. */
  readonly scopes: readonly string[];
  /** How people sign in; null: they cannot. */
  readonly signIn: SignInSettings | null;
}

export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Where the provider sends people whom it has signed out, if they are known to it as such; null: nowhere. */
  readonly signedOutUri: string | null;
  /** What tokens are to be good for, where the provider has to be told; null: it knows. */
  readonly audience: string | null;
}

/** Id of the element with the settings. */
export const SETTINGS_ELEMENT = 'settings';
/** Id of the element that the page is built in. */
export const ROOT_ELEMENT = 'explorer';
