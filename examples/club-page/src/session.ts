import * as oauth from 'oauth4webapi';
import { CLIENT_ID, ISSUER, SCOPE } from './settings';

/** A signed-in person, as far as this page knows: a token, and until when it is good, in milliseconds since 1970. */
export interface Session {
  readonly accessToken: string;
  readonly expiresAt: number;
  /** What the provider knows the session by when it is to end; of a provider that gives none: undefined. */
  readonly idToken?: string | undefined;
}

/** What has to be known again when the provider sends the person back. */
interface Attempt {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly hash: string;
}

const client: oauth.Client = { client_id: CLIENT_ID };
/** In the tab and no longer than it: another tab, or whoever opens the browser tomorrow, has nothing of it. */
const storage = window.sessionStorage;
const redirectUri = `${location.origin}/`;
const issuer = new URL(ISSUER);
/** Plain http is for one's own machine. */
const options = {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so that it stands out, and for nothing but this
  [oauth.allowInsecureRequests]: issuer.hostname === '127.0.0.1' || issuer.hostname === 'localhost',
};

/** The session of this tab; null when there is none, or when it is over. */
export function findSession(): Session | null {
  const text = storage.getItem('session');
  const session = text === null ? null : (JSON.parse(text) as Session);
  return session !== null && session.expiresAt > Date.now() ? session : null;
}

export function endSession(): void {
  storage.removeItem('session');
}

/** Sends the browser to the provider: authorization code with PKCE (RFC 7636). */
export async function signIn(): Promise<void> {
  const server = await discover();
  if (server.authorization_endpoint === undefined) throw new Error('The provider has no page to sign in on');
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
 * Takes what the provider sent the browser back with, if it did, and keeps the session.
 * @throws oauth.AuthorizationResponseError when the person or the provider has refused
 */
export async function finishSignIn(): Promise<void> {
  const url = new URL(location.href);
  if (!url.searchParams.has('state')) return;
  const text = storage.getItem('attempt');
  storage.removeItem('attempt');
  const attempt = text === null ? null : (JSON.parse(text) as Attempt);
  // The code is good once: it is not to be in the address when somebody reloads the page.
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
  const answer = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: attempt.nonce,
  });
  const session: Session = {
    accessToken: answer.access_token,
    expiresAt: Date.now() + (answer.expires_in ?? 3600) * 1000,
    idToken: answer.id_token,
  };
  storage.setItem('session', JSON.stringify(session));
}

/** Where the person can sign out of the provider too, and comes back from (OpenID Connect RP-Initiated Logout 1.0 §2). */
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
