import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import type { Former } from './former-entries.js';

/**
 * The deletion for those who leave an audience, and the creation for those who join it, stay as they are. So do changes of ids:
 * without them, a client that continues would find an id that another entry in its copy still has.
 */
const HIDE: Readonly<Record<EntryKind, string>> = {
  person: `
    update changes c set user_visible_to = e.visible_to
    from users e
    where e.key = any ($1::integer[]) and c.user_key = e.key and c.outside_of = 0
      and c.id_before is null and c.user_visible_to < e.visible_to`,
  group: `
    update changes c set group_visible_to = e.visible_to
    from groups e
    where e.key = any ($1::integer[]) and c.group_key = e.key and c.outside_of = 0
      and c.id_before is null and c.group_visible_to < e.visible_to`,
};

/**
 * Hides the earlier changes of users and groups that have become hidden, which have a deletion for those who leave the audience.
 * A list of members that becomes hidden has none, so its earlier changes remain. It is called after the rows of the entries are
 * written, and before the changes of the revision are.
 * @param former the entries before the revision
 */
export async function hideEarlierChanges(writer: Writer, former: readonly Former[]): Promise<void> {
  for (const kind of ['person', 'group'] as const) {
    const keys = former.filter((each) => each.kind === kind && each.hasOtherAudience).map(({ key }) => key);
    if (keys.length > 0) await writer.query(HIDE[kind], [keys]);
  }
}
