import { type CsnVector, mergeVectors, vectorOf } from './csn-vector.js';

/** What the cookies of OpenLDAP say: `rid=000,sid=001,csn=…;…,delcsn=…`. */
export interface SyncCookie {
  /** The server that made the cookie; null: it has no server ID. */
  readonly serverId: number | null;
  readonly csns: CsnVector;
}

/** `delcsn` is for consumers that replay a log: it says nothing about the content. */
const FIELD = /^(rid|sid|csn|delcsn)=(.*)$/;

/** @returns null for the cookie of another kind of server, which only that server understands */
export function parseSyncCookie(cookie: Buffer): SyncCookie | null {
  const fields = new Map<string, string>();
  for (const part of cookie.toString('latin1').split(',')) {
    const [, name, value = ''] = FIELD.exec(part) ?? [];
    if (name === undefined) return null;
    fields.set(name, value);
  }
  const sid = fields.get('sid');
  if (sid !== undefined && !/^[0-9a-f]{1,3}$/i.test(sid)) return null;
  const csns = (fields.get('csn') ?? '').split(';').filter((csn) => csn !== '');
  const vector = vectorOf(csns);
  if (csns.length > 0 && vector.size === 0) return null;
  return { serverId: sid === undefined ? null : Number.parseInt(sid, 16), csns: vector };
}

/**
 * Adds what a cookie says to what is known. A cookie of the persist stage names only the server ID of its change, and
 * one that relays changes may name none; the server counts the IDs, and starts from nothing when one is missing.
 *
 * The result has no `sid`: a server does not send a consumer the changes that were first written on the server with
 * the ID of the consumer. It has a `rid`: without one, OpenLDAP answers with empty cookies.
 *
 * @returns null as long as there is nothing to go on from
 */
export function mergeCookies(known: Buffer | null, told: Buffer): Buffer | null {
  const parsed = parseSyncCookie(told);
  if (parsed === null) return told;
  const csns = mergeVectors(csnsOf(known), parsed.csns);
  return csns.size === 0 ? null : formatSyncCookie(csns);
}

/** What a cookie says about each server ID; nothing, when it is of another kind of server. */
export function csnsOf(cookie: Buffer | null): CsnVector {
  return (cookie === null ? null : parseSyncCookie(cookie))?.csns ?? new Map<number, string>();
}

function formatSyncCookie(csns: CsnVector): Buffer {
  const sorted = [...csns].sort(([one], [other]) => one - other).map(([, csn]) => csn);
  return Buffer.from(`rid=000,csn=${sorted.join(';')}`, 'latin1');
}
