import type { NamedBy } from '../../config/model/mapping.js';
import type { EntryKind } from '../../sources/source.js';
import { rankOfNaming } from './snapshot.js';

/** The tables of mirrored entries. */
export const ENTRY_TABLES = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** SQL for the key by which a group names a row of these tables: see storedKeyOf and keyOfEntry. */
export function storedKeyIn(alias: string, by: NamedBy): string {
  if (by === 'dn') return `${alias}.dn_key`;
  const text = by === 'id' ? `'id:' || ${alias}.id_folded` : `'uuid:' || ${alias}.entry_uuid`;
  return `encode(substring(sha256('\\x00'::bytea || convert_to(${text}, 'UTF8')) for 16), 'hex')::uuid`;
}

const RANKS = [1, 2, 3, 4, 5, 6, 7].map(rankOfNaming);

/** SQL for the rank of a naming: see rankOfNaming. */
export function rankIn(namedAs: string): string {
  return `('{${RANKS.join(',')}}'::smallint[])[${namedAs}]`;
}
