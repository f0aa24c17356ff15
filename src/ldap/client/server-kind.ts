import { PRESET_NAMES, type PresetName } from '../../config/model/presets/presets.js';
import { PRESETS } from '../../config/model/presets/read-presets.js';
import type { Entry } from '../entry.js';
import { type LdapConnection, readOne, type SearchOptions, type ServerKind } from './ldap-connection.js';
import { type LdapResult, LdapResultError, ResultCode, resultCodeName } from './ldap-error.js';

/** The properties that a server publishes in its root DSE (RFC 4512 §5.1, RFC 3045). */
export interface RootDse {
  readonly namingContexts: readonly string[];
  /** OIDs. */
  readonly supportedControls: readonly string[];
  readonly subschema: string | null;
  /** OpenLDAP publishes none and is recognized by the object class of the root DSE. */
  readonly vendorName: string | null;
  readonly vendorVersion: string | null;
  readonly kind: ServerKind;
}

const ATTRIBUTES = [
  ...['namingContexts', 'supportedControl', 'subschemaSubentry', 'vendorName', 'vendorVersion'],
  ...PRESET_NAMES.flatMap((name) => Object.keys(PRESETS[name].recognition ?? {})),
];

/** @throws {LdapError} and the signal's reason */
export async function readRootDse(connection: LdapConnection, options: SearchOptions = {}): Promise<RootDse> {
  const root = await readOne(connection, '', [...new Set(ATTRIBUTES)], options);
  const textOf = (attribute: string) => root?.text(attribute) ?? [];
  const kind = root === null ? 'other' : recognizeServer(root);
  connection.kind = kind;
  return {
    namingContexts: textOf('namingContexts'),
    supportedControls: textOf('supportedControl'),
    subschema: textOf('subschemaSubentry')[0] ?? null,
    vendorName: textOf('vendorName')[0] ?? (kind === 'openldap' ? 'OpenLDAP' : null),
    vendorVersion: textOf('vendorVersion')[0] ?? null,
    kind,
  };
}

/** Recognizes a server by its root DSE (pure). */
export function recognizeServer(root: Entry): ServerKind {
  const recognizes = (name: PresetName) => {
    const recognition = Object.entries(PRESETS[name].recognition ?? {});
    const matches = recognition.map(([attribute, value]) =>
      root.text(attribute).some((text) => value.test(text)),
    );
    return matches.length > 0 && matches.every((isMatch) => isMatch);
  };
  return PRESET_NAMES.find(recognizes) ?? 'other';
}

/** The server stopped at a limit for this account: the entries read so far are incomplete. */
export class LimitExceededError extends LdapResultError {}

/** OpenLDAP also limits searches whose candidates the indexes cannot narrow (size.unchecked). */
const LIMITS = new Map<number, string>([
  [ResultCode.sizeLimitExceeded, 'size=unlimited time=unlimited'],
  [ResultCode.timeLimitExceeded, 'size=unlimited time=unlimited'],
  [ResultCode.adminLimitExceeded, 'size=unlimited size.unchecked=unlimited time=unlimited'],
]);

/** The error for the result of a search: it has the remedy for an exceeded limit, or the base that does not exist or is hidden. */
export function searchErrorOf(
  error: LdapResultError,
  connection: LdapConnection,
  base: string,
): LdapResultError {
  return error.code === ResultCode.noSuchObject
    ? new LdapResultError(error, `${error.message} for the base ${base}`)
    : (toLimitError(error, connection.bindDn, connection.kind) ?? error);
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
