import type { Principal } from '../auth/principal.js';
import { hasScopes } from '../auth/access.js';
import { type Field, storedName } from '../common/field.js';
import type { GroupRole } from '../groups/group.model.js';
import type { PreviewedChange } from './mutations.model.js';

/** The values of the fields of an entry by their stored names. Null: there is no entry. */
export type FieldValues = Readonly<Record<string, unknown>> | null;

/**
 * The differences between an entry before and after a change (pure): of its id, of the fields that previews can change, and of
 * those that share an attribute with them. Fields that the token cannot read, or that only some viewers see, are left out.
 * @param object the field of the payload that has the object
 */
export function changesOfFields(
  object: string,
  fields: readonly Field[],
  before: FieldValues,
  after: FieldValues,
  principal: Principal,
): PreviewedChange[] {
  const isKept = before !== null && after !== null;
  return fields.flatMap((field) => {
    const { name, change, scopes = [], visibleTo, reader, reference } = field;
    const isChangeable = name === 'id' || change !== undefined;
    // What a reference names may be hidden.
    const canShare = isKept && reference === undefined && reader !== 'picture' && reader !== 'none';
    const isReadable = visibleTo === undefined && hasScopes(principal, scopes);
    if (!isReadable || !(isChangeable || canShare)) return [];
    return changesOfValue(
      [object, name],
      textOf(before?.[storedName(field)]),
      textOf(after?.[storedName(field)]),
    );
  });
}

/** The change of a value; none if it stays the same. */
export function changesOfValue(
  path: string[],
  before: string | null,
  after: string | null,
): PreviewedChange[] {
  return before === after ? [] : [{ path, before, after }];
}

/** The roles of a user in a group. Null: the user does not belong to it. */
type Roles = Readonly<Record<'direct' | 'value', GroupRole | null>> | null;

export function changesOfRoles(before: Roles, after: Roles): PreviewedChange[] {
  return (['direct', 'value'] as const).flatMap((name) =>
    changesOfValue(['membership', 'role', name], before?.[name] ?? null, after?.[name] ?? null),
  );
}

/** A value as responses have it, as text. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  return typeof value === 'string' ? value : JSON.stringify(value).replace(/^"(.*)"$/, '$1');
}
