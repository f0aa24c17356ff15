import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import type { Former } from './former-entries.js';

/** The deletion for those who leave an audience, and the creation for those who join it, stay as they are. */
const HIDE: Readonly<Record<EntryKind, string>> = {
  person: `
    update changes c set user_visible_to = e.visible_to
    from users e
    where e.key = any ($1::integer[]) and c.user_key = e.key and c.outside_of = 0 and c.user_visible_to < e.visible_to`,
  group: `
    update changes c set group_visible_to = greatest(c.group_visible_to, e.visible_to),
      members_visible_to = case when c.user_key is null then c.members_visible_to
        else greatest(c.members_visible_to, e.members_visible_to) end
    from groups e
    where e.key = any ($1::integer[]) and c.group_key = e.key and c.outside_of = 0
      and (c.group_visible_to < e.visible_to or c.user_key is not null and c.members_visible_to < e.members_visible_to)`,
};

/**
 * Hides the earlier changes of what has become hidden, and those of the members of a list that has. It is called after the rows
 * of the entries are written, and before the changes of the revision are.
 * @param former the entries before the revision
 */
export async function hideEarlierChanges(writer: Writer, former: readonly Former[]): Promise<void> {
  for (const kind of ['person', 'group'] as const) {
    const keys = former.filter((each) => each.kind === kind && each.hasOtherAudience).map(({ key }) => key);
    if (keys.length > 0) await writer.query(HIDE[kind], [keys]);
  }
}
