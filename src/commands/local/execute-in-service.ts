import type { Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { ERROR_CODES, type ErrorCode, ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { connectToService, type LocalRequest, parseWithTimes, TIMEOUT_MS } from './local-endpoint.js';

/** No service listens: nothing was sent. */
export class NoServiceError extends Error {}

/**
 * Works through the running service that holds the embedded database, or by itself where none does, or the database is another.
 * @param inService works with the service, by the directory of the database
 */
export async function throughService<Result>(
  { database }: Config,
  inService: (directory: string) => Promise<Result>,
  byItself: () => Promise<Result>,
): Promise<Result> {
  if (database.kind === 'pglite') {
    try {
      return await inService(database.directory);
    } catch (error) {
      // The lock of the database then decides whether this process may open it.
      if (!(error instanceof NoServiceError)) throw error;
    }
  }
  return byItself();
}

/**
 * Executes an operation in the service that holds the embedded database: LocalCommandsServer.
 * @param database the directory of the database
 * @param shownBy the command that shows whether the operation took effect; null if the operation changes nothing
 * @throws ServiceError as the operation itself, or if its outcome is unknown; NoServiceError
 */
export async function executeInService<Result>(
  database: string,
  request: LocalRequest,
  isResult: (value: unknown) => value is Result,
  shownBy: string | null,
): Promise<Result> {
  const socket = await connectToService(database).catch((error: unknown) => {
    throw new NoServiceError('No service listens', { cause: error });
  });
  const fail = (code: ErrorCode, what: string, options?: ErrorOptions): ServiceError => {
    const effect = shownBy === null ? '' : `: the command may have taken effect, see «${shownBy}»`;
    return new ServiceError(code, `The service that holds the database ${what}${effect}`, {}, options);
  };
  const text = await exchange(socket, JSON.stringify(request), fail);
  if (text === '') throw fail('SERVICE_UNAVAILABLE', 'has ended');
  const answer = parseWithTimes(text);
  if (isObject(answer) && isFailure(answer['error']))
    throw new ServiceError(answer['error'].code, answer['error'].message);
  if (isObject(answer) && 'result' in answer && isResult(answer['result'])) return answer['result'];
  throw fail('INTERNAL_SERVER_ERROR', 'has given an answer of another form');
}

async function exchange(
  socket: Socket,
  request: string,
  fail: (code: ErrorCode, what: string, options?: ErrorOptions) => ServiceError,
): Promise<string> {
  socket.setTimeout(TIMEOUT_MS, () => {
    socket.destroy(fail('TIMEOUT', `has not answered within ${TIMEOUT_MS / 1000} seconds`));
  });
  try {
    return await readText(socket.end(request));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw fail('SERVICE_UNAVAILABLE', 'has ended', { cause: error });
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isFailure(value: unknown): value is Pick<ServiceError, 'code' | 'message'> {
  return (
    isObject(value) &&
    ERROR_CODES.some((code) => code === value['code']) &&
    typeof value['message'] === 'string'
  );
}
