import type { Field } from '../common/field.js';
import { Projection } from '../database/fields/projection.js';
import { User } from './user.model.js';

const MODEL = { create: () => new User(), list: 'groups', node: 'user', computed: { groups: ['key'] } };

/** Users, read from their table `u`. */
export function userProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u' });
}

/** Users in memberships `m`, whose carried columns save the join with `users u`. */
export function memberProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u', carriedAs: 'm.user_' });
}
