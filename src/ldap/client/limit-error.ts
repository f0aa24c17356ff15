import { PRESETS } from '../../config/model/presets/presets.js';
import type { LdapConnection } from './ldap-connection.js';
import { type LdapResult, LdapResultError } from './ldap-error.js';
import { ResultCode, resultCodeName } from './result-code.js';
import { readRootDse } from './root-dse.js';
import type { ServerKind } from './server-kind.js';

/** The server stopped at a limit for this account: the entries read so far are incomplete. */
export class LimitExceededError extends LdapResultError {}

/** OpenLDAP also limits searches whose candidates the indexes cannot narrow (size.unchecked). */
const LIMITS = new Map<number, string>([
  [ResultCode.sizeLimitExceeded, 'size=unlimited time=unlimited'],
  [ResultCode.timeLimitExceeded, 'size=unlimited time=unlimited'],
  [ResultCode.adminLimitExceeded, 'size=unlimited size.unchecked=unlimited time=unlimited'],
]);

/** Idle timeout in milliseconds for reading the kind of a server, which is only needed for the message. */
const READ_TIMEOUT_MS = 3000;

/** The error for a result of a connection, with the remedy for its kind of server; null when it means no exceeded limit. */
export async function limitErrorOf(
  error: LdapResultError,
  connection: LdapConnection,
): Promise<LimitExceededError | null> {
  if (!LIMITS.has(error.code)) return null;
  const options = { idleTimeout: READ_TIMEOUT_MS };
  const kind = await readRootDse(connection, options).then(
    (root) => root.kind,
    () => 'other' as const,
  );
  return toLimitError(error, connection.bindDn, kind);
}

/**
 * The error for a result code that means an exceeded limit; null for all other codes. The message contains
 * what to set on a server of this kind; for OpenLDAP, the statement to add to its configuration for the bound account.
 */
export function toLimitError(
  result: LdapResult,
  bindDn: string | null,
  kind: ServerKind,
): LimitExceededError | null {
  const limits = LIMITS.get(result.code);
  if (limits === undefined) return null;
  const remedy = (kind === 'other' ? null : PRESETS[kind].limits) ?? remedyOfOpenldap(bindDn, limits);
  const cause = `The directory server limits what ${bindDn ?? 'anonymous clients'} may read (${resultCodeName(result.code)}).`;
  return new LimitExceededError(result, `${cause} ${remedy}`);
}

function remedyOfOpenldap(bindDn: string | null, limits: string): string {
  const who = bindDn === null ? 'anonymous' : `dn.exact="${bindDn.replace(/[\\"]/g, '\\$&')}"`;
  return `OpenLDAP needs in slapd.conf: limits ${who} ${limits} (in cn=config, on the database: olcLimits: ${who} ${limits})`;
}
