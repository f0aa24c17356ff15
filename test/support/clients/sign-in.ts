import { createHash, randomBytes } from 'node:crypto';
import { FormBrowser } from './form-browser.js';

export interface SignInRequest {
  /** A public client of the embedded provider. */
  readonly clientId: string;
  readonly redirectUri: string;
  /** The id of the user who signs in. */
  readonly userId: string;
  /** Separated by spaces. */
  readonly scope: string;
}

export interface SignedIn {
  readonly grantedScope: string;
  /** Value of the header Authorization. */
  readonly authorization: string;
}

/** Signs a user in with the authorization code and PKCE (RFC 7636), like an application in a browser. */
export async function signIn(
  baseUrl: string,
  { clientId, redirectUri, userId, scope }: SignInRequest,
): Promise<SignedIn> {
  const verifier = randomBytes(32).toString('base64url');
  const client = { client_id: clientId, redirect_uri: redirectUri };
  const parameters = new URLSearchParams({
    ...client,
    response_type: 'code',
    scope,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const browser = new FormBrowser(baseUrl);
  const page = await browser.open(`${baseUrl}/oauth2/authorize?${parameters.toString()}`);
  const { url } = await browser.signIn(page.url, userId);
  const response = await fetch(`${baseUrl}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...client,
      grant_type: 'authorization_code',
      code: new URL(url).searchParams.get('code') ?? '',
      code_verifier: verifier,
    }),
  });
  const token = (await response.json()) as { access_token: string; scope: string };
  return { grantedScope: token.scope, authorization: `Bearer ${token.access_token}` };
}
