import type { Scope } from './scopes.js';

export type TokenKind = 'ACCESS_TOKEN' | 'PERSONAL_ACCESS_TOKEN' | 'SERVICE_ACCOUNT_TOKEN';

/** Who is asking, as far as the token tells. Frozen and shared by all requests with the same token. */
export interface Principal {
  readonly kind: TokenKind;
  /** Stands for the caller where requests are counted: subject, client or service account. */
  readonly countedAs: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The OAuth client that the token was issued to. */
  readonly clientId: string | null;
  /** The id of the person the token acts for, as the issuer spells it; null: it acts for nobody. */
  readonly subject: string | null;
  readonly serviceAccountId: string | null;
  readonly expiresAt: Date | null;
}

export function hasScopes(principal: Principal, required: readonly Scope[]): boolean {
  return required.every((scope) => principal.scopes.has(scope));
}
