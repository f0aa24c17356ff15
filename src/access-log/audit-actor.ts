import type { Principal } from '../auth/principal.js';

/** Who is shown something, as the access log names them. */
export interface Onlooker {
  /** `service-account:ID` or `client:ID`, or one of the names below. */
  readonly principal: string;
  /** Id of the person that a token acts for, as its issuer spells it; empty: nobody. */
  readonly actingFor: string;
}

/** Whoever had the signed URL of a picture, which tells no more of them. */
export const SIGNED_URL: Onlooker = { principal: 'signed-url', actingFor: '' };
/** Whoever is one too many to be told apart while the database is away. */
export const OTHERS: Onlooker = { principal: 'others', actingFor: '' };

/** Characters: three of them are one row of an index, of which PostgreSQL takes 2,704 bytes. */
const LONGEST = 200;

export function onlookerOf({ serviceAccountId, clientId, subject }: Principal): Onlooker {
  if (serviceAccountId !== null) {
    return { principal: `service-account:${serviceAccountId}`, actingFor: '' };
  }
  return {
    principal: clientId === null ? 'access-token' : `client:${storable(clientId)}`,
    actingFor: storable(subject ?? ''),
  };
}

/** An issuer may spell ids as it likes; PostgreSQL's text has neither NUL nor halves of characters. */
function storable(id: string): string {
  return id.slice(0, LONGEST).toWellFormed().replaceAll('\0', '\u{fffd}');
}
