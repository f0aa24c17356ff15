import type { Writer } from '../../database/statements/writer.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import type { Entry } from '../../ldap/entry.js';
import type { Delta, DeltaBuilder } from '../../sources/delta.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { StoredEntry } from '../plan/plan.js';
import { identitiesIn } from '../plan/planning.js';
import { readStoredEntries, readStoredReferences } from '../plan/stored.js';

/**
 * Groups that the server may rewrite because of a change to somebody whom they name, without a word. OpenLDAP's
 * overlay refint does, a moment after an entry was renamed or deleted: such a group gets neither a message (RFC 4533)
 * nor a new entryCSN or modifyTimestamp.
 */
export interface Consequences {
  /** By entryUUID: those that name an entry by a DN which it no longer has. */
  readonly groups: ReadonlySet<string>;
  /** DNs of entries that were not mirrored: whoever names them may have been rewritten when they were moved here. */
  readonly dns: ReadonlySet<string>;
}

/** More new entries than this at once are an import, and were not moved here. */
const MANY = 1000;

/** DNs that are no longer those of somebody, or have become so; by keyOfDn. */
interface TouchedDns {
  readonly gone: string[];
  readonly renamed: string[];
  readonly taken: string[];
}

/**
 * What a change may entail, by what the mirror knows. Groups that it takes to name a DN that is now somebody's are
 * among it: they may have been rewritten while nobody was behind it.
 * @returns also whether groups name somebody who is still there by a former DN: read too early, they would look as if
 *   the person had left
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

/** Adds the groups, as they are now, to a change. */
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

/** Milliseconds after which is looked again: a server rewrites groups in its own time. */
const DELAYS = [1_000, 5_000, 30_000, 120_000];

/** What may still be entailed by changes that have been taken over. */
export class Aftermath {
  private waiting: { at: number; consequences: Consequences }[] = [];

  /** @param now milliseconds, as those below */
  expect(consequences: Consequences, now: number): void {
    if (consequences.groups.size + consequences.dns.size === 0) return;
    for (const delay of DELAYS) this.waiting.push({ at: now + delay, consequences });
  }

  /** Milliseconds until it is time to look; infinite when nothing is expected. */
  patience(now: number): number {
    return Math.max(0, Math.min(...this.waiting.map(({ at }) => at - now)));
  }

  /** What it is time to look at. */
  take(now: number): Consequences {
    const due = this.waiting.filter(({ at }) => at <= now);
    this.waiting = this.waiting.filter(({ at }) => at > now);
    return {
      groups: new Set(due.flatMap(({ consequences }) => [...consequences.groups])),
      dns: new Set(due.flatMap(({ consequences }) => [...consequences.dns])),
    };
  }
}
