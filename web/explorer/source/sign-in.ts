import * as oauth from 'oauth4webapi';
import type { SignInSettings } from '../../../src/explorer/page-settings.js';
import { problem, use } from './session.js';
import { settings } from './settings.js';

/** What has to be known again when somebody comes back from the provider. No token is ever kept there. */
const KEPT = 'explorer:sign-in';

/** The address of the page, whichever way somebody came to it. */
const HERE = `${settings.startPage}explorer`;

interface Departure {
  readonly state: string;
  readonly verifier: string;
}

/** Why nobody can sign in on this page; null: they can. */
export function obstacle(): 'none' | 'elsewhere' | 'insecure' | null {
  const { signIn } = settings;
  if (signIn === null) return 'none';
  // What is kept for the way back is kept for an origin.
  if (new URL(signIn.redirectUri).origin !== location.origin) return 'elsewhere';
  // Browsers calculate no hashes on pages that came over plain http from another machine.
  return isSecureContext ? null : 'insecure';
}

/** Leaves for the provider: authorization code with PKCE (RFC 6749 §4.1, RFC 7636). */
export async function leave(scopes: readonly string[]): Promise<void> {
  const { signIn } = settings;
  if (signIn === null) return;
  problem.set(null);
  try {
    const server = await discover(signIn);
    if (server.authorization_endpoint === undefined) throw new Error('No authorization endpoint');
    const verifier = oauth.generateRandomCodeVerifier();
    const departure: Departure = { state: oauth.generateRandomState(), verifier };
    const url = new URL(server.authorization_endpoint);
    const parameters = {
      client_id: signIn.clientId,
      redirect_uri: signIn.redirectUri,
      response_type: 'code',
      scope: scopes.join(' '),
      state: departure.state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(signIn.audience === null ? {} : { audience: signIn.audience }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    sessionStorage.setItem(KEPT, JSON.stringify(departure));
    location.assign(url);
  } catch {
    problem.set('The identity provider cannot be reached from here at the moment.');
  }
}

/** Takes the token where somebody has come back from the provider, and the traces out of the address. */
export async function comeBack(): Promise<void> {
  const { signIn } = settings;
  const url = new URL(location.href);
  const kept = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (signIn === null) return;
  if (url.pathname !== HERE) history.replaceState(null, '', HERE);
  if (!url.searchParams.has('state')) return;
  if (kept === null) {
    problem.set('This sign-in was begun elsewhere, or has been used already. Sign in again.');
    return;
  }
  try {
    const server = await discover(signIn);
    const token = await redeem(server, signIn, url, JSON.parse(kept) as Departure);
    await use(`Bearer ${token}`, signOutUrlOf(server, signIn));
  } catch (error) {
    problem.set(reasonOf(error));
  }
}

async function redeem(
  server: oauth.AuthorizationServer,
  signIn: SignInSettings,
  url: URL,
  { state, verifier }: Departure,
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

/** OpenID Connect RP-Initiated Logout 1.0 §2: the provider asks whether to, and sends back who has answered. */
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
  // The symbol is marked as deprecated only to stand out. A provider for development is on http.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  return { [oauth.allowInsecureRequests]: issuer.startsWith('http:') };
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    if (error.error === 'access_denied') return 'You have not signed in.';
    return `The identity provider refused: ${error.error_description ?? error.error}.`;
  }
  return 'Signing in did not work. Try again.';
}
