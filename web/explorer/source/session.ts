import { send } from './send.js';
import { Store } from './store.js';

/** The token in use. It is kept in memory only, so a reload of the page ends the session. */
export interface Session {
  /** Value of the header Authorization. */
  readonly authorization: string;
  /** Name or id of the service account, user or client. */
  readonly owner: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970, or null if the token does not expire or its expiry is unknown. */
  readonly expiresAt: number | null;
  /** The provider's end-session page; null if it has none or the token was pasted. */
  readonly signOutUrl: string | null;
}

export const session = new Store<Session | null>(null);

/** The provider's end-session page for a user who has just signed out here, or null. */
export const providerSignOutUrl = new Store<string | null>(null);

/** How often a user has signed out here. */
export const signOuts = new Store(0);

/** The error message of the last attempt to sign in, or null. */
export const problem = new Store<string | null>(null);

const TOKEN_QUERY = `query CurrentToken {
  currentToken { kind scopes clientId userId expiresAt }
  currentServiceAccount { name expiresAt }
}`;

interface CurrentToken {
  readonly currentToken: {
    readonly scopes: string[];
    readonly clientId: string | null;
    readonly userId: string | null;
    readonly expiresAt: string | null;
  } | null;
  readonly currentServiceAccount: { readonly name: string; readonly expiresAt: string | null } | null;
}

/** Starts a session with a token after the service has accepted it. */
export async function startSession(authorization: string, signOutUrl: string | null = null): Promise<void> {
  problem.set(null);
  providerSignOutUrl.set(null);
  try {
    const { body } = await send({ query: TOKEN_QUERY }, authorization);
    const { data, errors } = body as { data?: CurrentToken | null; errors?: { message: string }[] };
    const token = data?.currentToken ?? null;
    if (token === null) {
      problem.set(errors?.[0]?.message ?? 'The service does not accept this token.');
      return;
    }
    const account = data?.currentServiceAccount ?? null;
    const end = token.expiresAt ?? account?.expiresAt ?? null;
    session.set({
      authorization,
      owner: account?.name ?? token.userId ?? token.clientId ?? 'unknown',
      scopes: token.scopes,
      expiresAt: end === null ? null : Date.parse(end),
      signOutUrl,
    });
  } catch {
    problem.set('The service cannot be reached.');
  }
}

/** Returns the header for a pasted token: a service account's token is the Base64 of `id:secret`, others are access tokens. */
export function authorizationOf(text: string): string {
  const token = text.trim().replace(/^(?:basic|bearer)\s+/i, '');
  return isServiceAccountToken(token) ? `Basic ${token}` : `Bearer ${token}`;
}

function isServiceAccountToken(token: string): boolean {
  try {
    return /^[^:]+:dirsa_/.test(atob(token));
  } catch {
    return false; // Not Base64.
  }
}

export function endSession(): void {
  session.set(null);
  problem.set(null);
}

export function signOut(): void {
  providerSignOutUrl.set(session.get()?.signOutUrl ?? null);
  endSession();
  signOuts.set(signOuts.get() + 1);
}
