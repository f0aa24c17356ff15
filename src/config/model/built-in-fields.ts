import { type FieldDefinition, isMapped } from '../../common/field.js';
import { GROUP_FIELDS } from '../../groups/group.fields.js';
import { USER_FIELDS } from '../../users/user.fields.js';

/** The tables of built-in fields by the key of the model. */
export const BUILT_IN_FIELDS = {
  users: USER_FIELDS,
  groups: GROUP_FIELDS,
} as const satisfies Record<'users' | 'groups', readonly FieldDefinition[]>;

/** Names of the built-in fields whose attributes the key `fields` may name. Others have keys of their own. */
export function mappableFields(kind: 'users' | 'groups'): string[] {
  return BUILT_IN_FIELDS[kind].filter(isMapped).map(({ name }) => name);
}
