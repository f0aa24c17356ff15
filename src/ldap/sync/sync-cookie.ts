import { type CsnVector, mergeVectors, vectorOf } from './csn-vector.js';

/** The content of an OpenLDAP cookie: `rid=000,sid=001,csn=…;…,delcsn=…`. */
interface SyncCookie {
  /** The ID of the server that made the cookie; null when the cookie has no server ID. */
  readonly serverId: number | null;
  readonly csns: CsnVector;
}

/** `delcsn` is for consumers that replay a log and does not describe the content. */
const FIELD = /^(rid|sid|csn|delcsn)=(.*)$/;

/** @returns null for the cookie of another server product, which is opaque */
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
 * Merges a received cookie into the known one; null as long as no CSN is known. A cookie of the persist stage
 * has only the server ID of its change, or none for a relayed change. OpenLDAP counts the server IDs, and
 * sends the full content when one is missing. The result has no `sid`, because a server does not send a
 * consumer its own changes. It has a `rid`: without one, OpenLDAP answers with empty cookies.
 */
export function mergeCookies(known: Buffer | null, received: Buffer): Buffer | null {
  const parsed = parseSyncCookie(received);
  if (parsed === null) return received;
  const csns = mergeVectors(csnsOf(known), parsed.csns);
  return csns.size === 0 ? null : formatSyncCookie(csns);
}

/** The CSN of each server ID in a cookie; empty when the cookie is null or from another server product. */
export function csnsOf(cookie: Buffer | null): CsnVector {
  return (cookie === null ? null : parseSyncCookie(cookie))?.csns ?? new Map<number, string>();
}

function formatSyncCookie(csns: CsnVector): Buffer {
  const sorted = [...csns].sort(([one], [other]) => one - other).map(([, csn]) => csn);
  return Buffer.from(`rid=000,csn=${sorted.join(';')}`, 'latin1');
}
