import { foldId } from '../../../src/common/identity.js';

/** Adds a user or group that no directory has. @param id also the DN and the name. @param columns others than the usual ones */
export async function insertObject(
  writer: { readonly query: (text: string, values: unknown[]) => Promise<unknown> },
  table: 'users' | 'groups',
  id: string,
  columns: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const own = table === 'users' ? { is_active: true, family_sort_name: '' } : {};
  const row = {
    id,
    id_folded: foldId(id),
    name: id,
    sort_name: id,
    search_text: id,
    search_pairs: [],
    ...own,
    ...columns,
  };
  const names = Object.keys(row);
  await writer.query(
    `with entry as (
       insert into entries (uuid, kind, dn, dn_key, id_folded, stamp, attributes, content, digest)
       values (gen_random_uuid(), $1, $2, gen_random_uuid(), $3, '', '{}', '', '') returning key, uuid)
     insert into ${table} (key, entry_uuid, created_at, updated_at, ${names.join(', ')})
     select key, uuid, now(), now(), ${names.map((_, index) => `$${index + 4}`).join(', ')} from entry`,
    [table === 'users' ? 'person' : 'group', id, row.id_folded, ...Object.values<unknown>(row)],
  );
}
