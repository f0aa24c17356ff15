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

/** The address of a window to the page that has opened it. They may have lost their relation on the way. */
const returns = new BroadcastChannel(ATTEMPT_KEY);
let pending: SignInAttempt | null = null;
returns.onmessage = ({ data }: MessageEvent<string>) => {
  const url = new URL(data);
  // A sign-in of another page has another state.
  if (pending !== null && url.searchParams.get('state') === pending.state) void finish(url, pending);
};

/** Returns the reason why sign-in is not possible on this page, or null. */
export function signInObstacle(): 'none' | 'elsewhere' | 'insecure' | null {
  const { signIn } = settings;
  if (signIn === null) return 'none';
  // The session storage, which holds the attempt, is bound to an origin.
  if (new URL(signIn.redirectUri).origin !== location.origin) return 'elsewhere';
  // Browsers offer Web Crypto, which PKCE needs, in secure contexts only.
  return isSecureContext ? null : 'insecure';
}

/**
 * Opens the provider: authorization code with PKCE (RFC 6749 §4.1, RFC 7636). In a window of its own, so that the page keeps its
 * tabs and the response, or in this one if the browser blocks windows.
 */
export async function startSignIn(scopes: readonly string[]): Promise<void> {
  const { signIn } = settings;
  if (signIn === null) return;
  problem.set(null);
  // The new window gets a copy of the storage.
  sessionStorage.removeItem(ATTEMPT_KEY);
  // Browsers only allow it at once after a click.
  const popup = open('', '', 'popup,width=520,height=680');
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
    if (popup === null) {
      sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify(attempt));
      location.assign(url);
    } else {
      pending = attempt;
      popup.location.href = url.href;
    }
  } catch {
    popup?.close();
    problem.set('The identity provider cannot be reached from this page.');
  }
}

/**
 * Handles the redirect from the provider: removes the code from the address and redeems it for a token. Returns whether this window
 * has another purpose than to send the code to the page that has opened it.
 */
export function handleRedirect(): boolean {
  const url = new URL(location.href);
  const stored = sessionStorage.getItem(ATTEMPT_KEY);
  sessionStorage.removeItem(ATTEMPT_KEY);
  history.replaceState(null, '', `${settings.basePath}/explorer`);
  if (!url.searchParams.has('state')) return true;
  if (stored === null) {
    returns.postMessage(url.href);
    document.body.textContent = 'The sign-in continues in the window that began it. You can close this one.';
    close();
    return false;
  }
  void finish(url, JSON.parse(stored) as SignInAttempt);
  return true;
}

async function finish(url: URL, attempt: SignInAttempt): Promise<void> {
  const { signIn } = settings;
  pending = null;
  if (signIn === null) return;
  try {
    const server = await discover(signIn);
    const token = await redeem(server, signIn, url, attempt);
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
