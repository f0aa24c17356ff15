import * as oauth from 'oauth4webapi';
import { CLIENT_ID, ISSUER, SCOPE } from './settings';

/** A signed-in user: an access token and its expiry in milliseconds since 1970. */
export interface Session {
  readonly accessToken: string;
  readonly expiresAt: number;
  /** Identifies the session when it is ended at the provider; undefined if the provider returns no ID token. */
  readonly idToken?: string | undefined;
}

/** State that is needed after the redirect from the provider. */
interface Attempt {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly hash: string;
}

const client: oauth.Client = { client_id: CLIENT_ID };
/** Belongs to the tab and is deleted with it. */
const storage = window.sessionStorage;
const redirectUri = `${location.origin}/`;
const issuer = new URL(ISSUER);
/** Plain HTTP is allowed on the local machine only. */
const options = {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked as deprecated only to make its use visible
  [oauth.allowInsecureRequests]: issuer.hostname === '127.0.0.1' || issuer.hostname === 'localhost',
};

/** The session of this tab, or null if there is none or it has expired. */
export function findSession(): Session | null {
  const text = storage.getItem('session');
  const session = text === null ? null : (JSON.parse(text) as Session);
  return session !== null && session.expiresAt > Date.now() ? session : null;
}

export function endSession(): void {
  storage.removeItem('session');
}

/** Redirects to the provider: authorization code with PKCE (RFC 7636). */
export async function signIn(): Promise<void> {
  const server = await discover();
  if (server.authorization_endpoint === undefined)
    throw new Error('The provider has no authorization endpoint');
  const attempt: Attempt = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    hash: location.hash,
  };
  storage.setItem('attempt', JSON.stringify(attempt));
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: CLIENT_ID,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: SCOPE,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(attempt.verifier),
    code_challenge_method: 'S256',
  }).toString();
  location.assign(url);
}

/**
 * Handles a redirect from the provider, if there is one, and stores the session.
 * @throws oauth.AuthorizationResponseError if the user or the provider has refused
 */
export async function finishSignIn(): Promise<void> {
  const url = new URL(location.href);
  if (!url.searchParams.has('state')) return;
  const text = storage.getItem('attempt');
  storage.removeItem('attempt');
  const attempt = text === null ? null : (JSON.parse(text) as Attempt);
  // The code can be used once. Removing it from the address keeps a reload from using it again.
  history.replaceState(null, '', `${redirectUri}${attempt?.hash ?? ''}`);
  if (attempt === null) return;

  const server = await discover();
  const parameters = oauth.validateAuthResponse(server, client, url, attempt.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    attempt.verifier,
    options,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: attempt.nonce,
  });
  const session: Session = {
    accessToken: tokens.access_token,
    expiresAt: Date.now() + (tokens.expires_in ?? 3600) * 1000,
    idToken: tokens.id_token,
  };
  storage.setItem('session', JSON.stringify(session));
}

/** Returns the URL that ends the session at the provider and redirects back (OpenID Connect RP-Initiated Logout 1.0 §2). */
export async function findSignOutUrl({ idToken }: Session): Promise<string | null> {
  const { end_session_endpoint: endpoint } = await discover();
  if (endpoint === undefined) return null;
  const url = new URL(endpoint);
  url.search = new URLSearchParams({
    client_id: CLIENT_ID,
    post_logout_redirect_uri: redirectUri,
    ...(idToken === undefined ? {} : { id_token_hint: idToken }),
  }).toString();
  return url.href;
}

async function discover(): Promise<oauth.AuthorizationServer> {
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
}
