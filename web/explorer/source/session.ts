import { send } from './send.js';
import { Store } from './store.js';

/** A token that is in use. It is kept in memory only: a page that is loaded anew has forgotten it. */
export interface Session {
  /** The header with the token. */
  readonly authorization: string;
  /** Who or what it acts for, in words. */
  readonly holder: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: it does not end, or nobody knows when. */
  readonly expiresAt: number | null;
  /** Where the provider ends its own session; null: it has no such page, or the token was pasted. */
  readonly signOutUrl: string | null;
}

export const session = new Store<Session | null>(null);

/** Where somebody who has just signed out here can do so at the provider; null: nowhere. */
export const farewell = new Store<string | null>(null);

/** What went wrong with a token or with signing in, for people; null: nothing. */
export const problem = new Store<string | null>(null);

const WHO = `query Who {
  currentToken { kind scopes clientId userId expiresAt }
  currentServiceAccount { name expiresAt }
}`;

interface Who {
  readonly currentToken: {
    readonly scopes: string[];
    readonly clientId: string | null;
    readonly userId: string | null;
    readonly expiresAt: string | null;
  } | null;
  readonly currentServiceAccount: { readonly name: string; readonly expiresAt: string | null } | null;
}

/** Uses a token from now on, once the service has said what it is good for. */
export async function use(authorization: string, signOutUrl: string | null = null): Promise<void> {
  problem.set(null);
  farewell.set(null);
  try {
    const { answer } = await send({ query: WHO }, authorization);
    const { data, errors } = answer as { data?: Who | null; errors?: { message: string }[] };
    const token = data?.currentToken ?? null;
    if (token === null) {
      problem.set(errors?.[0]?.message ?? 'The service does not know this token.');
      return;
    }
    const account = data?.currentServiceAccount ?? null;
    const end = token.expiresAt ?? account?.expiresAt ?? null;
    session.set({
      authorization,
      holder: account?.name ?? token.userId ?? token.clientId ?? 'somebody',
      scopes: token.scopes,
      expiresAt: end === null ? null : Date.parse(end),
      signOutUrl,
    });
  } catch {
    problem.set('The service cannot be reached at the moment.');
  }
}

/** The header for what somebody has pasted: a service account's token is the Base64 of `id:secret`, others are access tokens. */
export function authorizationOf(pasted: string): string {
  const token = pasted.trim().replace(/^(?:basic|bearer)\s+/i, '');
  return isServiceAccountToken(token) ? `Basic ${token}` : `Bearer ${token}`;
}

function isServiceAccountToken(token: string): boolean {
  try {
    return /^[^:]+:dirsa_/.test(atob(token));
  } catch {
    return false; // Not Base64.
  }
}

export function forget(): void {
  session.set(null);
  problem.set(null);
}

export function signOut(): void {
  farewell.set(session.get()?.signOutUrl ?? null);
  forget();
}
