import { Inject, Injectable } from '@nestjs/common';
import type { Field } from '../common/field.js';
import { foldAddress, foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { lookupCondition } from '../database/fields/object-table.js';
import { filterTypeOf, fieldConditions } from '../database/fields/filters.js';
import { type Reader, REVISION, statement, Values } from '../database/statements/statement.js';
import type { Principal } from './principal.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Finds the users of tokens that name them by another field than the id. What others may see does not matter, because the users
 * are those who ask.
 */
@Injectable()
export class TokenUsers {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** The principal of a token with the id of its user. Throws ServiceUnavailableError. */
  async find(principal: Principal): Promise<Principal> {
    if (principal.subject === null || this.config.auth.rules.userField === 'id') return principal;
    const subject = await findUser(this.database, this.config, principal.subject);
    return Object.freeze({ ...principal, subject });
  }
}

/** The id of the one user whom a token names by this value; null if there is none, or if there are several. */
export async function findUser(
  reader: Pick<Reader, 'read'>,
  { auth, directory }: Pick<Config, 'auth' | 'directory'>,
  value: string,
): Promise<string | null> {
  const values = new Values();
  const condition = conditionOf(auth.rules.userField, value, directory.mapping.users.fields, values);
  if (condition === null) return null;
  const asked = statement(`select u.id, ${REVISION} from users u where ${condition} limit 2`, {
    returnsRevision: true,
  });
  const [[id] = [null], another] = await reader.read<[id: string, revision: string]>(asked, values.all);
  return another === undefined ? id : null;
}

function conditionOf(name: string, value: string, fields: readonly Field[], values: Values): string | null {
  const lookUp = (column: 'id' | 'email' | 'nodeId', folded: string) =>
    lookupCondition({ table: 'users' }, column, 'u', values.add(folded));
  if (name === 'id') return lookUp('id', foldId(value));
  if (name === 'email') return lookUp('email', foldAddress(value));
  if (name === 'uuid') return UUID.test(value) ? lookUp('nodeId', value) : null;
  const field = fields.find((each) => each.name === name);
  if (field === undefined) return null;
  const isNumber = filterTypeOf(field) === 'IntFilter';
  if (isNumber && !/^\d{1,9}$/.test(value)) return null;
  const wanted = { [name]: { is: isNumber ? Number(value) : value.replaceAll('\0', '\uFFFD') } };
  return fieldConditions([{ ...field, visibleTo: undefined }], wanted, values, 'u')[0] ?? null;
}
