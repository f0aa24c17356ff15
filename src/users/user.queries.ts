import { REVISION, statement } from '../database/statements/statement.js';
import { User } from './user.model.js';

/** What a person is read from; the table has the alias `u`. */
export const USER_COLUMNS = [
  'u.key',
  'u.id',
  'u.name',
  'u.given_name',
  'u.family_name',
  'u.email',
  'u.school_year',
  'u.photo is not null',
  'u.picture is not null',
  'u.created_at',
  'u.updated_at',
] as const;

export type UserRow = [
  key: number,
  id: string,
  name: string,
  givenName: string | null,
  familyName: string | null,
  email: string | null,
  schoolYear: string | null,
  hasPhoto: boolean,
  hasPicture: boolean,
  createdAt: Date,
  updatedAt: Date,
];

export function userOf(row: UserRow): User {
  const user = new User();
  [
    user.key,
    user.id,
    user.name,
    user.givenName,
    user.familyName,
    user.email,
    user.schoolYear,
    user.hasPhoto,
    user.hasPicture,
    user.createdAt,
    user.updatedAt,
  ] = row;
  return user;
}

const COLUMNS = USER_COLUMNS.join(', ');

/** One row, also where nobody has the id: then it has nothing but the revision in it. */
export const FIND_USER = statement(
  `select ${COLUMNS}, s.revision_uuid from mirror_state s left join users u on u.id_folded = $1`,
  { tellsRevision: true, isShort: true },
);

/** Null for the row of FIND_USER that has nobody in it. */
export function findUserOf(row: UserRow | undefined): User | null {
  return row === undefined || (row[0] as number | null) === null ? null : userOf(row);
}

export const LIST_USERS_BY_KEY = statement(
  `select ${COLUMNS}, ${REVISION} from users u where u.key = any ($1::integer[])`,
  { tellsRevision: true },
);
