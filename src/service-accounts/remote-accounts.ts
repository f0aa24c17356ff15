import type { Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { ERROR_CODES, type ErrorCode, ServiceError } from '../common/errors.js';
import type {
  AccountChanges,
  AccountOperations,
  DescribedAccount,
  IssuedToken,
  NewServiceAccount,
} from './account-operations.js';
import { connectToService, type AccountRequest, parseWithTimes, TIMEOUT_MS } from './local-endpoint.js';
import type { ServiceAccountEntity } from './service-account.entity.js';

/** No service listens: nothing was sent. */
export class NoServiceError extends Error {}

/** Operations on service accounts by the service that holds the embedded database: LocalAccountsServer. */
export class RemoteAccounts implements AccountOperations {
  constructor(private readonly database: string) {}

  create(account: NewServiceAccount): Promise<IssuedToken> {
    return this.execute({ operation: 'create', args: [account] }, isIssued);
  }

  describeAll(): Promise<DescribedAccount[]> {
    return this.execute({ operation: 'describeAll', args: [] }, isList);
  }

  update(id: string, changes: AccountChanges): Promise<ServiceAccountEntity> {
    return this.execute({ operation: 'update', args: [id, changes] }, isAccount);
  }

  rotate(id: string, overlapSeconds: number): Promise<IssuedToken> {
    return this.execute({ operation: 'rotate', args: [id, overlapSeconds] }, isIssued);
  }

  async revoke(id: string): Promise<void> {
    await this.execute({ operation: 'revoke', args: [id] }, (value) => value === null);
  }

  /** @throws ServiceError as the operation itself, or if its outcome is unknown; NoServiceError */
  private async execute<Result>(
    request: AccountRequest,
    isResult: (value: unknown) => value is Result,
  ): Promise<Result> {
    const socket = await connectToService(this.database).catch((error: unknown) => {
      throw new NoServiceError('No service listens', { cause: error });
    });
    const text = await exchange(socket, JSON.stringify(request));
    if (text === '') throw unknownOutcome('SERVICE_UNAVAILABLE', 'has ended');
    const answer = parseWithTimes(text);
    if (isObject(answer) && isFailure(answer['error']))
      throw new ServiceError(answer['error'].code, answer['error'].message);
    if (isObject(answer) && 'result' in answer && isResult(answer['result'])) return answer['result'];
    throw unknownOutcome('INTERNAL_SERVER_ERROR', 'has given an answer of another form');
  }
}

async function exchange(socket: Socket, request: string): Promise<string> {
  socket.setTimeout(TIMEOUT_MS, () => {
    socket.destroy(unknownOutcome('TIMEOUT', `has not answered within ${TIMEOUT_MS / 1000} seconds`));
  });
  try {
    return await readText(socket.end(request));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw unknownOutcome('SERVICE_UNAVAILABLE', 'has ended', { cause: error });
  }
}

function unknownOutcome(code: ErrorCode, what: string, options?: ErrorOptions): ServiceError {
  const message = `The service that holds the database ${what}: the command may have taken effect, see «service-account list»`;
  return new ServiceError(code, message, {}, options);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isFailure(value: unknown): value is Pick<ServiceError, 'code' | 'message'> {
  return (
    isObject(value) &&
    ERROR_CODES.some((code) => code === value['code']) &&
    typeof value['message'] === 'string'
  );
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
