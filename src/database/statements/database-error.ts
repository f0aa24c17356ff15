import { isNativeError } from 'node:util/types';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';

/** Constraints that input can break. */
const CONSTRAINTS: Partial<Record<string, () => ServiceError>> = {
  service_accounts_pk: () => new ServiceError('CONFLICT', 'A service account with this id exists already'),
  service_accounts_id_form: () =>
    new ServiceError(
      'BAD_USER_INPUT',
      'The id of a service account has 2 to 64 lower-case letters, digits and hyphens, and begins with none',
      { argument: 'id' },
    ),
};

/** SQLSTATEs of temporary conditions, and of a pooler that shares sessions. Codes that begin with E are those of sockets. */
const UNAVAILABLE =
  /^(08|53|57P|E(CONN|HOST|NET|PIPE|TIMEDOUT|NOENT|NOTFOUND|AI_AGAIN)|(25006|25P03|26000|42P05)$)/;
/** SQLSTATEs undefined_table and object_not_in_prerequisite_state: during a restore (docs/adr/0032). */
const INCOMPLETE = /^(42P01|55000)$/;
/** A lock that was not available in time. */
const BUSY = '55P03';
/** A serialization failure, a deadlock. */
const LOST_RACE = /^(40001|40P01)$/;
const QUERY_CANCELED = '57014';

/** Errors without a code. Among them that of TypeORM for each statement after the one whose connection was lost. */
const UNAVAILABLE_MESSAGES =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end|Driver not Connected|not queryable|Query runner already released/;

/** The mirror has no revision yet, or none with the present rules of visibility. An empty list would be a wrong answer. */
export class NothingReadError extends ServiceUnavailableError {
  constructor() {
    super('The directory has not been read yet, or not with the present rules: try again later');
  }
}

/** Another transaction changes the same rows: the whole transaction has to run again. */
export class LostRaceError extends ServiceUnavailableError {}

/** TypeORM wraps the driver's error; the pool does not. */
function driverErrorOf(error: unknown): { readonly code?: string; readonly constraint?: string } {
  return (error as { driverError?: object } | null)?.driverError ?? error ?? {};
}

/** Maps an error of the database to a ServiceError. Unknown errors are returned, and masked later. */
export function databaseError(error: unknown): Error {
  if (error instanceof ServiceError) return error;
  // Not instanceof: socket errors may come from another realm, for example in a test runner.
  if (!isNativeError(error)) return new Error('The database failed in an unknown way');
  const { code = '', constraint } = driverErrorOf(error);
  const broken = CONSTRAINTS[constraint ?? ''];
  if (broken !== undefined) return broken();
  const options = { cause: error };
  const unavailable = (message: string) => new ServiceUnavailableError(message, options);
  if (code === QUERY_CANCELED)
    return new ServiceError('TIMEOUT', 'The answer took too long: ask for less at once', {}, options);
  const changing = 'The directory is being changed at the moment';
  if (LOST_RACE.test(code)) return new LostRaceError(changing, options);
  if (code === BUSY) return unavailable(changing);
  if (INCOMPLETE.test(code)) return unavailable('The database is incomplete');
  return UNAVAILABLE.test(code) || UNAVAILABLE_MESSAGES.test(error.message)
    ? unavailable('The database cannot be reached at the moment')
    : error;
}

/** The database cannot be used at all. The operator gets one line of explanation, and the process ends. */
export class DatabaseStartError extends Error {}

/** The database does not answer, or not at the moment. The caller may retry. */
export class DatabaseAwayError extends DatabaseStartError {}

/** Why a server cannot be used, for the log. Socket errors may have a code but no message. */
export function reasonOf(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: string };
  return message === '' ? (code ?? 'no answer') : message;
}
