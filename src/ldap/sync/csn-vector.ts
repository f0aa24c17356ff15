/**
 * The replication state of an OpenLDAP server: for each server ID (0 where none is configured), the CSN of
 * the newest change that was first written there. CSNs of one server ID have the order of their text.
 */
export type CsnVector = ReadonlyMap<number, string>;

/** How the state of a server differs from a state that was seen before, by server ID. */
export interface CsnDifference {
  /** The server IDs whose newest known change the server does not have. */
  readonly behind: readonly number[];
  /** The server IDs of which no change was known before. */
  readonly added: readonly number[];
}

const CSN = /^\d{14}(?:\.\d{1,6})?Z#[0-9a-f]{6}#([0-9a-f]{2,3})#[0-9a-f]{6}$/i;

/** The newest CSN of each server ID. Values that are not CSNs are ignored. */
export function vectorOf(csns: Iterable<string>): CsnVector {
  const vector = new Map<number, string>();
  for (const csn of csns) {
    const [, digits] = CSN.exec(csn) ?? [];
    if (digits === undefined) continue;
    const serverId = Number.parseInt(digits, 16);
    if (csn > (vector.get(serverId) ?? '')) vector.set(serverId, csn);
  }
  return vector;
}

/** Merges two states: the newest CSN of each server ID in either. */
export function mergeVectors(one: CsnVector, other: CsnVector): CsnVector {
  return vectorOf([...one.values(), ...other.values()]);
}

/** Compares the current state of a server with the known state. */
export function compareVectors(known: CsnVector, current: CsnVector): CsnDifference {
  return {
    behind: [...known].flatMap(([serverId, csn]) => ((current.get(serverId) ?? '') < csn ? [serverId] : [])),
    added: [...current.keys()].filter((serverId) => !known.has(serverId)),
  };
}

/** The time of the change that a CSN identifies (RFC 3339, UTC, whole seconds). */
export function timeOfCsn(csn: string): string {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(csn) ?? [];
  return `${year ?? ''}-${month ?? ''}-${day ?? ''}T${hour ?? ''}:${minute ?? ''}:${second ?? ''}Z`;
}
