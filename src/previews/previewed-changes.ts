import type { Principal } from '../auth/principal.js';
import { hasScopes } from '../auth/access.js';
import { type Field, storedName } from '../common/field.js';
import type { GroupRole } from '../groups/group.model.js';
import type { PreviewedChange } from './change.model.js';

/** The values of the fields of an entry by their stored names. Null: there is no entry. */
type Values = Readonly<Record<string, unknown>> | null;

/**
 * The differences between an entry before and after a change (pure): of its id, of the fields that previews can change, and of
 * those that share an attribute with them. Fields that the token cannot read, or that only some viewers see, are left out.
 * @param object the field of the payload that has the object
 */
export function changesOfFields(
  object: string,
  fields: readonly Field[],
  { before, after }: { readonly before: Values; readonly after: Values },
  principal: Principal,
): PreviewedChange[] {
  return fields
    .filter((field) => {
      const isKept = before !== null && after !== null;
      return isReadable(field, principal) && (isChangeable(field) || (isKept && canShare(field)));
    })
    .flatMap((field) => {
      const values = [before, after].map((entry) => textOf(entry?.[storedName(field)]));
      return changesOfValue([object, field.name], values[0] ?? null, values[1] ?? null);
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

/** The roles of a user in a group. */
export type Roles = Readonly<Record<'direct' | 'value', GroupRole | null>>;

/** The differences between the roles of a user in a group. Null: the user does not belong to the group. */
export function changesOfRoles(before: Roles | null, after: Roles | null): PreviewedChange[] {
  return (['direct', 'value'] as const).flatMap((name) =>
    changesOfValue(['membership', 'role', name], before?.[name] ?? null, after?.[name] ?? null),
  );
}

function isReadable({ scopes, visibleTo }: Field, principal: Principal): boolean {
  return visibleTo === undefined && (scopes === undefined || hasScopes(principal, scopes));
}

function isChangeable({ name, change }: Field): boolean {
  return name === 'id' || change !== undefined;
}

/** Whether a field can have the attribute of another one. What a reference names may be hidden. */
function canShare({ reader, reference }: Field): boolean {
  return reference === undefined && reader !== 'picture' && reader !== 'none';
}

/** A value as responses have it, as text. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  if (typeof value === 'string') return value;
  return value instanceof URL ? value.href : JSON.stringify(value).replace(/^"(.*)"$/, '$1');
}
