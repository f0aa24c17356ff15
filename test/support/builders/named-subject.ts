import type { NamedSubject } from '../../../src/previews/memberships/membership-record.js';

/** A subject that groups name by its DN. */
export function named(dn: string): NamedSubject {
  return { dn, id: null, uuid: '00000000-0000-4000-8000-000000000000' };
}
