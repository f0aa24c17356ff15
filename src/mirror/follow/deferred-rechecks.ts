import type { Writer } from '../../database/statements/statement.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import type { Entry } from '../../ldap/entry.js';
import type { Delta, DeltaBuilder } from '../../sources/delta.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { StoredEntry } from '../plan/plan.js';
import { identitiesIn } from '../plan/planning.js';
import { readStoredEntries, readStoredReferences } from '../plan/stored.js';

/**
 * Groups that the server may rewrite without notice because an entry that they name has changed. OpenLDAP's
 * overlay refint does so a moment after a rename or a deletion, without a message (RFC 4533), a new entryCSN
 * or modifyTimestamp.
 */
interface Consequences {
  /** entryUUIDs of groups that name an entry by a DN that it no longer has. */
  readonly groups: ReadonlySet<string>;
  /**
   * DNs of entries that were not mirrored before. Groups that name them may have been rewritten when they
   * moved here.
   */
  readonly dns: ReadonlySet<string>;
}

/** A larger number of new entries at once is an import; such entries were not moved here. */
const MANY = 1000;

/** DNs that entries have lost or received, by keyOfDn. */
interface TouchedDns {
  readonly gone: string[];
  readonly renamed: string[];
  readonly taken: string[];
}

/**
 * Returns the groups that a change may affect, according to the mirror. They include groups that name a DN
 * that an entry now has, because they may have been rewritten while no entry had it.
 * @returns also whether groups name an existing entry by a former DN. If they were read too early, the entry
 *   would appear to have left them
 */
export async function findConsequences(
  manager: Writer,
  delta: Delta,
): Promise<Consequences & { hasRenamed: boolean }> {
  const stored = await readStoredEntries(manager, identitiesIn(delta));
  const touched: TouchedDns = { gone: [], renamed: [], taken: [] };
  const dns = [
    ...compareDns(delta.people, stored.people, touched),
    ...compareDns(delta.groups, stored.groups, touched),
  ];
  const ofRenamed = await readStoredReferences(manager, [], touched.renamed);
  const others = await readStoredReferences(manager, [], [...touched.gone, ...touched.taken]);
  const groups = new Set([...ofRenamed, ...others].map(({ group }) => group));
  for (const uuid of delta.goneGroups) groups.delete(uuid);
  return { groups, dns: new Set(dns.length > MANY ? [] : dns), hasRenamed: ofRenamed.length > 0 };
}

/** @returns the DNs of entries that are not mirrored */
function compareDns(
  entries: ReadonlyMap<string, Entry>,
  rows: ReadonlyMap<string, StoredEntry>,
  { gone, renamed, taken }: TouchedDns,
): string[] {
  const created: string[] = [];
  for (const { uuid, dnKey } of rows.values()) if (!entries.has(uuid)) gone.push(dnKey);
  for (const [uuid, { dn }] of entries) {
    const row = rows.get(uuid);
    const dnKey = keyOfDn(dn);
    if (row?.dnKey === dnKey) continue;
    taken.push(dnKey);
    if (row === undefined) created.push(dn);
    else renamed.push(row.dnKey);
  }
  return created;
}

export async function addConsequences(
  delta: DeltaBuilder,
  { groups, dns }: Consequences,
  directory: LdapDirectory,
  connection: LdapConnection,
): Promise<void> {
  const found = [
    ...(await directory.readAgain(connection, [...groups])),
    ...(await directory.readNaming(connection, [...dns])),
  ];
  for (const { kind, uuid, entry } of found) delta.put(kind, uuid, entry);
}

/** Milliseconds after which the groups are read again. A server rewrites groups with an unknown delay. */
const DELAYS = [1_000, 5_000, 30_000, 120_000];

export class DeferredRechecks {
  private waiting: { at: number; consequences: Consequences }[] = [];

  /** @param now milliseconds, on the same clock as in the other methods */
  expect(consequences: Consequences, now: number): void {
    if (consequences.groups.size + consequences.dns.size === 0) return;
    for (const delay of DELAYS) this.waiting.push({ at: now + delay, consequences });
  }

  /** Milliseconds until the next recheck, or Infinity if there is none. */
  millisecondsUntilDue(now: number): number {
    return Math.max(0, Math.min(...this.waiting.map(({ at }) => at - now)));
  }

  /** Removes and returns the rechecks that are due. */
  take(now: number): Consequences {
    const due = this.waiting.filter(({ at }) => at <= now);
    this.waiting = this.waiting.filter(({ at }) => at > now);
    return {
      groups: new Set(due.flatMap(({ consequences }) => [...consequences.groups])),
      dns: new Set(due.flatMap(({ consequences }) => [...consequences.dns])),
    };
  }
}
