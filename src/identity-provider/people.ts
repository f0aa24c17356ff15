import { foldId } from '../common/fold.js';
import type { Database } from '../database/database.js';
import { statement } from '../database/statements/statement.js';

/** A person who can sign in: everybody in the mirror, and nobody else. */
export interface Person {
  /** As the directory spells it, however it was typed. */
  readonly id: string;
  readonly name: string;
}

/** Finds a person by id; null when the mirror has nobody of that id. */
export type FindPerson = (id: string) => Promise<Person | null>;

/** One row, also where nobody has the id. */
const PERSON_BY_ID = statement(
  'select u.id, u.name, s.revision_uuid from mirror_state s left join users u on u.id_folded = $1',
  { tellsRevision: true },
);

/** @throws ServiceUnavailableError when the database is away, or the directory has not been read yet */
export async function findPerson(database: Database, id: string): Promise<Person | null> {
  const rows = await database.read<[id: string | null, name: string]>(PERSON_BY_ID, [foldId(id)]);
  const [[personId, name] = [null, '']] = rows;
  return personId === null ? null : { id: personId, name };
}
