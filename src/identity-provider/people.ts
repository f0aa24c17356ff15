import { foldId } from '../common/fold.js';
import type { Database } from '../database/database.js';
import { statement } from '../database/statement.js';

/** A person who can sign in: everybody in the mirror, and nobody else. */
export interface Person {
  /** As the directory spells it, however it was typed. */
  readonly id: string;
  readonly name: string;
}

/** Finds a person by id; null when the mirror has nobody of that id. */
export type FindPerson = (id: string) => Promise<Person | null>;

const PERSON_BY_ID = statement('select id, name from users where id_folded = $1');

/** @throws ServiceUnavailableError when the database is away */
export async function findPerson(database: Database, id: string): Promise<Person | null> {
  const [row] = await database.read<[id: string, name: string]>(PERSON_BY_ID, [foldId(id)]);
  return row === undefined ? null : { id: row[0], name: row[1] };
}
