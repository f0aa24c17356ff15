import { isUuid } from '../common/uuid.js';
import { decodeCursor, readCursor } from '../common/cursor.js';
import { ServiceError } from '../common/errors.js';
import type { KeySeal } from '../common/key-seal.js';
import type { PageArguments } from '../common/page.js';
import type { Reader } from '../database/statements/statement.js';
import { CHANGE_BINDING, READ_PAST } from './change.queries.js';

/** The position of a cursor in the log, and the revision from which it was read. */
export interface LogPlace {
  readonly argument: 'after' | 'before';
  readonly id: number;
  readonly revision: string;
}

/** @throws ServiceError INVALID_CURSOR when a cursor is not of this log; those of the first release have no revision */
export function findPlaces(page: PageArguments, seal: KeySeal): LogPlace[] {
  return (['after', 'before'] as const).flatMap((argument) => {
    const cursor = page[argument];
    if (cursor === undefined || cursor === null) return [];
    const place = decodeChangeCursor(cursor, argument, seal);
    if (!isUuid(place.revision)) throw lostCursor(argument);
    return [place];
  });
}

function decodeChangeCursor(cursor: string, argument: LogPlace['argument'], seal: KeySeal): LogPlace {
  try {
    const [id, revision] = decodeCursor(seal, cursor, CHANGE_BINDING, ['key', 'string'], argument);
    return { argument, id: Number(id), revision: String(revision) };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'INVALID_CURSOR') throw lostCursor(argument);
    throw error;
  }
}

/**
 * Checked after the page has been read, because changes may expire in between.
 * @returns the number of the end of the log
 * @throws ServiceError INVALID_CURSOR, CHANGE_CURSOR_EXPIRED
 */
export async function refuseLost(
  { argument, id, revision }: LogPlace,
  days: number,
  reader: Reader,
): Promise<number> {
  const [row] = await reader.read<[past: number, end: number]>(READ_PAST, [days, revision, id]);
  if (row === undefined) throw lostCursor(argument);
  const [past, end] = row;
  if (id >= past) return end;
  throw new ServiceError(
    'CHANGE_CURSOR_EXPIRED',
    `Changes after the cursor in ${argument} are no longer kept: read everything again, and continue from the latest cursor`,
    { argument },
  );
}

function lostCursor(argument: LogPlace['argument']): ServiceError {
  return new ServiceError(
    'INVALID_CURSOR',
    `The cursor in ${argument} is not of the changes of this service: read everything again, and continue from the latest cursor`,
    { argument },
  );
}

/** Whether a text has the form of a cursor of changes, of this database or of another one. */
export function isChangeCursor(cursor: string): boolean {
  const [binding, place, revision, ...others] = readCursor(cursor);
  return (
    binding === CHANGE_BINDING &&
    typeof place === 'string' &&
    typeof revision === 'string' &&
    isUuid(revision) &&
    others.length === 0
  );
}
