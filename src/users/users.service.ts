import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { Reader } from '../database/statements/reader.js';
import type { Batches } from '../graphql/execution/batches.js';
import type { UserInput } from './user.inputs.js';
import type { User } from './user.model.js';
import { FIND_USER, findUserOf, LIST_USERS_BY_KEY, userOf, type UserRow } from './user.queries.js';

/** People, one by one. */
@Injectable()
export class UsersService {
  async find(id: string, reader: Reader): Promise<User | null> {
    const [row] = await reader.read<UserRow>(FIND_USER, [foldId(id)]);
    return findUserOf(row);
  }

  /** @throws NotFoundError */
  async get({ id }: UserInput, argument: string, reader: Reader): Promise<User> {
    const user = await this.find(id, reader);
    if (user === null) throw new NotFoundError('There is no person with this id', argument);
    return user;
  }

  /** The person with a key, in one statement with the others who are asked for at the same moment. */
  findByKey(key: number, batches: Batches): Promise<User | null> {
    return batches.load<User | null>('people by key', key, async (keys, reader) => {
      const rows = await reader.read<UserRow>(LIST_USERS_BY_KEY, [keys]);
      const people = new Map(rows.map((row) => [row[0], userOf(row)]));
      return keys.map((each) => people.get(each) ?? null);
    });
  }

  /** The person that a token acts for at this moment, as the directory spells the id; null: it acts for nobody. */
  async findIdOf({ subject }: Principal, reader: Reader): Promise<string | null> {
    return subject === null ? null : ((await this.find(subject, reader))?.id ?? null);
  }
}
