import type { Scope } from '../auth/principal.js';
import type { ServiceAccountEntity } from './service-account.entity.js';

export interface NewServiceAccount {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  /** Who is responsible for the program. */
  readonly contact?: string | null;
  /** Why it reads personal data. */
  readonly purpose?: string | null;
  /** The ids of the groups to which the account is limited. Default: it is not limited. */
  readonly groups?: readonly string[] | null;
  /** Whether the id of a revoked account may be used again. Default: false, so that old records name one account. */
  readonly reuse?: boolean;
}

/** What changes in an account; absent properties stay. */
export type AccountChanges = Partial<
  Pick<NewServiceAccount, 'name' | 'description' | 'scopes' | 'expiresAt' | 'contact' | 'purpose' | 'groups'>
>;

/** An account as an operator sees it. */
export interface DescribedAccount extends Omit<ServiceAccountEntity, 'revokedAt' | 'limitedTo'> {
  /** The ids of the groups to which it is limited; the entryUUID of a deleted one. Null: it is not limited. */
  readonly groups: readonly string[] | null;
  /** The number of tokens that are valid: two during a rotation. */
  readonly tokens: number;
}

/** An account with a token for it. The token is not stored, so it is known only now. */
export interface IssuedToken {
  readonly account: ServiceAccountEntity;
  readonly token: string;
}
