import type {
  AccountChanges,
  AccountOperations,
  DescribedAccount,
  IssuedToken,
  NewServiceAccount,
} from '../../service-accounts/account-operations.js';
import type { ServiceAccountEntity } from '../../service-accounts/service-account.entity.js';
import { executeInService, isObject } from './execute-in-service.js';
import type { LocalOperation } from './local-endpoint.js';

/** Operations on service accounts by the service that holds the embedded database. */
export class RemoteAccounts implements AccountOperations {
  constructor(private readonly database: string) {}

  create(account: NewServiceAccount): Promise<IssuedToken> {
    return this.execute('create', [account], isIssued);
  }

  describeAll(): Promise<DescribedAccount[]> {
    return this.execute('describeAll', [], isList);
  }

  update(id: string, changes: AccountChanges): Promise<ServiceAccountEntity> {
    return this.execute('update', [id, changes], isAccount);
  }

  rotate(id: string, overlapSeconds: number): Promise<IssuedToken> {
    return this.execute('rotate', [id, overlapSeconds], isIssued);
  }

  async revoke(id: string): Promise<void> {
    await this.execute('revoke', [id], (value) => value === null);
  }

  private execute<Result>(
    operation: LocalOperation,
    args: readonly unknown[],
    isResult: (value: unknown) => value is Result,
  ): Promise<Result> {
    return executeInService(this.database, { operation, args }, isResult, 'service-account list');
  }
}

function isAccount(value: unknown): value is ServiceAccountEntity {
  return (
    isObject(value) &&
    typeof value['id'] === 'string' &&
    typeof value['name'] === 'string' &&
    Array.isArray(value['scopes']) &&
    isTime(value['createdAt']) &&
    [value['expiresAt'], value['lastUsedAt']].every((time) => time === null || isTime(time))
  );
}

function isTime(value: unknown): boolean {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

function isList(value: unknown): value is DescribedAccount[] {
  return Array.isArray(value) && value.every(isAccount);
}

function isIssued(value: unknown): value is IssuedToken {
  return isObject(value) && isAccount(value['account']) && typeof value['token'] === 'string';
}
