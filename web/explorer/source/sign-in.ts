import * as oauth from 'oauth4webapi';
import type { SignInSettings } from '../../../src/explorer/page-settings.js';
import { problem, startSession } from './session.js';
import { settings } from './settings.js';

/** Key of the sign-in attempt in the session storage, which never contains a token. */
const ATTEMPT_KEY = 'explorer:sign-in';

interface SignInAttempt {
  readonly state: string;
  readonly verifier: string;
}

/** Returns the reason why sign-in is not possible on this page, or null. */
export function signInObstacle(): 'none' | 'elsewhere' | 'insecure' | null {
  const { signIn } = settings;
  if (signIn === null) return 'none';
  // The session storage, which holds the attempt, is bound to an origin.
  if (new URL(signIn.redirectUri).origin !== location.origin) return 'elsewhere';
  // Browsers offer Web Crypto, which PKCE needs, in secure contexts only.
  return isSecureContext ? null : 'insecure';
}

/** Redirects to the provider: authorization code with PKCE (RFC 6749 §4.1, RFC 7636). */
export async function startSignIn(scopes: readonly string[]): Promise<void> {
  const { signIn } = settings;
  if (signIn === null) return;
  problem.set(null);
  try {
    const server = await discover(signIn);
    if (server.authorization_endpoint === undefined) throw new Error('No authorization endpoint');
    const verifier = oauth.generateRandomCodeVerifier();
    const attempt: SignInAttempt = { state: oauth.generateRandomState(), verifier };
    const url = new URL(server.authorization_endpoint);
    const parameters = {
      client_id: signIn.clientId,
      redirect_uri: signIn.redirectUri,
      response_type: 'code',
      scope: scopes.join(' '),
      state: attempt.state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(signIn.audience === null ? {} : { audience: signIn.audience }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify(attempt));
    location.assign(url);
  } catch {
    problem.set('The identity provider cannot be reached from this page.');
  }
}

/** Handles the redirect from the provider: removes the code from the address and redeems it for a token. */
export async function finishSignIn(): Promise<void> {
  const { signIn } = settings;
  const url = new URL(location.href);
  const stored = sessionStorage.getItem(ATTEMPT_KEY);
  sessionStorage.removeItem(ATTEMPT_KEY);
  if (signIn === null) return;
  if (url.pathname !== settings.page) history.replaceState(null, '', settings.page);
  if (!url.searchParams.has('state')) return;
  if (stored === null) {
    problem.set('This sign-in was started in another tab or is already complete. Sign in again.');
    return;
  }
  try {
    const server = await discover(signIn);
    const token = await redeem(server, signIn, url, JSON.parse(stored) as SignInAttempt);
    await startSession(`Bearer ${token}`, signOutUrlOf(server, signIn));
  } catch (error) {
    problem.set(reasonOf(error));
  }
}

async function redeem(
  server: oauth.AuthorizationServer,
  signIn: SignInSettings,
  url: URL,
  { state, verifier }: SignInAttempt,
): Promise<string> {
  const client: oauth.Client = { client_id: signIn.clientId };
  const parameters = oauth.validateAuthResponse(server, client, url, state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    signIn.redirectUri,
    verifier,
    options(signIn),
  );
  const { access_token: token } = await oauth.processAuthorizationCodeResponse(server, client, response);
  return token;
}

/** OpenID Connect RP-Initiated Logout 1.0 §2: the provider asks for confirmation and redirects to `signedOutUri`. */
function signOutUrlOf(
  { end_session_endpoint: endpoint }: oauth.AuthorizationServer,
  { clientId, signedOutUri }: SignInSettings,
): string | null {
  if (endpoint === undefined) return null;
  const url = new URL(endpoint);
  url.searchParams.set('client_id', clientId);
  if (signedOutUri !== null) url.searchParams.set('post_logout_redirect_uri', signedOutUri);
  return url.href;
}

async function discover(signIn: SignInSettings): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(signIn.issuer);
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options(signIn)));
}

function options({ issuer }: SignInSettings) {
  // Providers for development use http.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked as deprecated only to make its use visible
  return { [oauth.allowInsecureRequests]: issuer.startsWith('http:') };
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    if (error.error === 'access_denied') return 'You have not signed in.';
    return `The identity provider refused: ${error.error_description ?? error.error}.`;
  }
  return 'Sign-in failed. Try again.';
}
