import type { NamedEntry } from '../../../src/previews/group-records.js';

/** An entry that groups name by its DN. */
export function named(dn: string, kind: NamedEntry['kind'] = 'group'): NamedEntry {
  return { kind, dn, id: '', uuid: '00000000-0000-4000-8000-000000000000' };
}
