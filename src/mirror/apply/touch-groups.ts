import { type DirectoryMapping, hasRules } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import type { Plan, RoleChange } from '../plan/plan.js';

/** The entryUUIDs of what some viewers do not see. */
interface Hidden {
  /** Users and groups. */
  readonly entries: ReadonlySet<string>;
  /** Groups whose members are hidden. */
  readonly lists: ReadonlySet<string>;
}

const NOTHING: Hidden = { entries: new Set(), lists: new Set() };

/** Without rules there is no statement. */
export async function readHidden(writer: Writer, mapping: DirectoryMapping): Promise<Hidden> {
  if (!hasRules(mapping)) return NOTHING;
  const rows: { uuid: string; isEntry: boolean; isList: boolean }[] = await writer.query(`
    select entry_uuid as uuid, true as "isEntry", false as "isList" from users where visible_to > 0
    union all
    select entry_uuid, visible_to > 0, members_visible_to > 0 from groups where visible_to > 0 or members_visible_to > 0`);
  const uuidsOf = (found: typeof rows) => new Set(found.map(({ uuid }) => uuid));
  return {
    entries: uuidsOf(rows.filter(({ isEntry }) => isEntry)),
    lists: uuidsOf(rows.filter(({ isList }) => isList)),
  };
}

/**
 * The groups that count as updated because their direct members or nested groups have changed, by entryUUID. False: only for those who
 * see everything, because not everyone can see one of these changes.
 */
export function touchedGroups(
  { memberships, nestings, deletedGroups }: Pick<Plan, 'memberships' | 'nestings' | 'deletedGroups'>,
  hidden: { readonly before: Hidden; readonly after: Hidden },
): Map<string, boolean> {
  const isShown = ({ group, subject, after }: RoleChange) =>
    !hidden.after.lists.has(group) && !hidden[after === null ? 'before' : 'after'].entries.has(subject);
  const touched = new Map<string, boolean>();
  for (const change of [...memberships, ...nestings])
    touched.set(change.group, touched.get(change.group) === true || isShown(change));
  for (const { uuid } of deletedGroups) touched.delete(uuid);
  return touched;
}
