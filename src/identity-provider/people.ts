import { foldId } from '../common/identity.js';
import type { Database } from '../database/database.js';
import type { OfferedPerson } from './pages/pages.js';
import { IS_COMPLETE, statement } from '../database/statements/statement.js';

/** A user who can sign in. Every user of the mirror can. */
export interface ProviderPerson {
  /** The id as the directory spells it, regardless of the spelling that was entered. */
  readonly id: string;
  readonly name: string;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly email: string | null;
}

/** People of the sample directory whom the sign-in page offers: sample/README.md. */
export const SAMPLE_PEOPLE: readonly OfferedPerson[] = [
  { id: 'ada.martin', name: 'Ada Martin', about: 'a student in 23 groups' },
  { id: 'anna.svensson', name: 'Anna Svensson', about: 'a student who administers the newspaper' },
  { id: 'tomas.dvorak', name: 'Tomáš Dvořák', about: 'a teacher' },
  { id: 'marguerite.lefevre', name: 'Marguerite Lefèvre', about: 'the head of the school' },
];

/** Finds a user by id. Returns null when the mirror has no such user. */
export type FindPerson = (id: string) => Promise<ProviderPerson | null>;

/** Returns one row even if no user has the id. */
const PERSON_BY_ID = statement(
  `select u.id, u.name, u.given_name, u.family_name, u.email, s.revision_uuid from mirror_state s left join users u on u.id_folded = $1
   where ${IS_COMPLETE}`,
  { returnsRevision: true },
);

/**
 * @throws ServiceUnavailableError when the database is unavailable, or the directory has not been read yet
 */
export async function findPerson(database: Database, id: string): Promise<ProviderPerson | null> {
  const rows = await database.read<[id: string | null, name: string, ...others: (string | null)[]]>(
    PERSON_BY_ID,
    [foldId(id)],
  );
  const [[personId, name, givenName = null, familyName = null, email = null] = [null, '']] = rows;
  return personId === null ? null : { id: personId, name, givenName, familyName, email };
}
