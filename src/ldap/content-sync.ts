import type { LdapConnection } from './connection.js';
import { ContentSyncRefusedError, RefreshRequiredError } from './content-sync-error.js';
import { LdapClosedError, LdapProtocolError, LdapResultError } from './ldap-error.js';
import { toLimitError } from './limit-error.js';
import type { SearchRequest } from './requests.js';
import { ResultCode } from './result-code.js';
import { SyncRequestControl } from './sync-messages.js';
import { type ContentEvent, SyncStage } from './sync-stage.js';

export interface ContentRequest extends SearchRequest {
  /** What the last event that had one gave; null: nothing is known of the content. */
  readonly cookie: Buffer | null;
  /** Goes on with every change after the refresh, until the connection or the signal ends it. */
  readonly persist: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Longest silence during the refresh, in milliseconds. Afterwards a quiet directory may be silent for days. */
  readonly idleTimeout?: number | undefined;
}

/** Codes with which servers say that this is not to be had: not at all, not here, or not by this account. */
const REFUSALS: readonly number[] = [
  ResultCode.protocolError,
  ResultCode.unavailableCriticalExtension,
  ResultCode.inappropriateMatching,
  ResultCode.insufficientAccessRights,
  ResultCode.unwillingToPerform,
];

/**
 * Follows the content of a search by LDAP content synchronisation (RFC 4533). Ends after `refreshed`, or with
 * `persist` never. Cookies are held back until the refresh is over: one that comes earlier stands for less than what
 * its reader has been told.
 *
 * @throws {RefreshRequiredError} when the cookie is too old or not understood: begin again without one
 * @throws {ContentSyncRefusedError} when there is no content synchronisation to be had
 * @throws {LimitExceededError} when the account may not read everything, SizeLimitError among them
 * @throws {LdapError} when the connection fails; the signal's reason
 */
export async function* followContent(
  connection: LdapConnection,
  request: ContentRequest,
): AsyncGenerator<ContentEvent, void, undefined> {
  const stage = new SyncStage(request.cookie !== null);
  const messages = connection.search(request, {
    controls: [new SyncRequestControl(request)],
    signal: request.signal,
    idleTimeout: () => (stage.isRefreshed ? 0 : request.idleTimeout),
  });
  try {
    for await (const message of messages) yield* stage.take(message);
  } catch (error) {
    if (error instanceof LdapProtocolError) connection.close();
    throw error instanceof LdapResultError ? toSyncError(error, connection.bindDn) : error;
  }
  if (request.persist) throw new LdapClosedError('The directory server ended the content synchronisation');
}

function toSyncError(error: LdapResultError, bindDn: string | null): LdapResultError {
  if (error.code === ResultCode.syncRefreshRequired) return new RefreshRequiredError(error);
  if (REFUSALS.includes(error.code)) return new ContentSyncRefusedError(error);
  return toLimitError(error, bindDn) ?? error;
}
