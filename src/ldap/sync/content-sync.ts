import type { LdapConnection, WaitOptions } from '../client/ldap-connection.js';
import { readContext } from './context-csn.js';
import { ContentSyncRefusedError, RefreshRequiredError } from './content-sync-error.js';
import { LdapClosedError, type LdapError, LdapProtocolError, LdapResultError } from '../client/ldap-error.js';
import { toLimitError } from '../client/limit-error.js';
import { suffixOf } from '../naming/naming-context.js';
import type { SearchRequest } from '../client/requests.js';
import { ResultCode } from '../client/result-code.js';
import { readRootDse } from '../client/root-dse.js';
import { SYNC_REQUEST, SyncRequestControl } from './sync-messages.js';
import { type ContentEvent, SyncStage } from './sync-stage.js';

/** The wait is that of the refresh: afterwards a directory may have nothing to say for days. */
export interface ContentRequest extends SearchRequest, WaitOptions {
  /** What the last event that had one gave; null: nothing is known of the content. */
  readonly cookie: Buffer | null;
  /** Goes on with every change after the refresh, until the connection or the signal ends it. */
  readonly persist: boolean;
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
 * Of these, the ones that may be about the cookie: OpenLDAP is unwilling when it knows less than the cookie does,
 * which happens after a crash or when it was restored from a backup.
 */
const REFUSALS_OF_COOKIES: readonly number[] = [ResultCode.protocolError, ResultCode.unwillingToPerform];

/**
 * Follows the content of a search by LDAP content synchronisation (RFC 4533). Ends after `refreshed`, or with
 * `persist` never. Cookies are held back until the refresh is over: one that comes earlier stands for less than what
 * its reader has been told.
 *
 * @throws {RefreshRequiredError} when the cookie is too old or not understood: begin again without one
 * @throws {ContentSyncRefusedError} when there is no content synchronisation to be had, or none to be believed
 * @throws {LimitExceededError} when the account may not read everything, SizeLimitError among them
 * @throws {LdapError} when the connection fails; the signal's reason
 */
export async function* followContent(
  connection: LdapConnection,
  request: ContentRequest,
): AsyncGenerator<ContentEvent, void, undefined> {
  await refuseWhatIsOfNoUse(connection, request);
  const stage = new SyncStage(request.cookie !== null);
  const messages = connection.search(request, {
    controls: [new SyncRequestControl(request)],
    signal: request.signal,
    idleTimeout: () => (stage.isRefreshed ? 0 : request.idleTimeout),
  });
  try {
    for await (const message of messages) yield* stage.take(message);
  } catch (error) {
    if (error instanceof LdapProtocolError) connection.close(error);
    if (!(error instanceof LdapResultError)) throw error;
    const { cookie } = request;
    throw toSyncError(error, { cookie, isRefreshed: stage.isRefreshed }, connection.bindDn);
  }
  if (request.persist) throw new LdapClosedError('The directory server ended the content synchronisation');
}

/**
 * Asks the server what it says of itself, before it is believed.
 * @throws {ContentSyncRefusedError} when it cannot do it, or would leave out entries (see readContext)
 */
async function refuseWhatIsOfNoUse(connection: LdapConnection, request: ContentRequest): Promise<void> {
  const { namingContexts, supportedControls } = await readRootDse(connection, request);
  if (supportedControls.length > 0 && !supportedControls.includes(SYNC_REQUEST)) {
    throw new ContentSyncRefusedError('The directory server has no content synchronisation');
  }
  const suffix = suffixOf(request.base, namingContexts);
  const context = suffix === undefined ? null : await readContext(connection, suffix, request);
  if (context?.isBehind !== true) return;
  throw new ContentSyncRefusedError(
    'The directory server has entries that are newer than its contextCSN, and would leave them out of content ' +
      'synchronisation. OpenLDAP is like that after a crash, until the next change (syncprov-checkpoint 1 1 prevents it)',
  );
}

/** Once the refresh is over, a server that ends it does not refuse it: that is asked anew. */
function toSyncError(
  error: LdapResultError,
  { cookie, isRefreshed }: { cookie: Buffer | null; isRefreshed: boolean },
  bindDn: string | null,
): LdapError {
  const { code, codeName } = error;
  if (code === ResultCode.syncRefreshRequired) return new RefreshRequiredError(error);
  if (!isRefreshed && REFUSALS.includes(code)) {
    if (cookie !== null && REFUSALS_OF_COOKIES.includes(code)) return new RefreshRequiredError(error);
    const message = `The directory server refuses content synchronisation: ${codeName} (${code})`;
    return new ContentSyncRefusedError(message, { cause: error });
  }
  return toLimitError(error, bindDn) ?? error;
}
