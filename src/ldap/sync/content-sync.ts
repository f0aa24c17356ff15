import type { LdapConnection, WaitOptions } from '../client/ldap-connection.js';
import { readContext } from './context-csn.js';
import { ContentSyncRefusedError, RefreshRequiredError } from './content-sync-error.js';
import {
  LdapClosedError,
  type LdapError,
  LdapProtocolError,
  LdapResultError,
  withBase,
} from '../client/ldap-error.js';
import { limitErrorOf } from '../client/limit-error.js';
import { suffixOf } from '../naming/naming-context.js';
import type { SearchRequest } from '../client/requests.js';
import { ResultCode } from '../client/result-code.js';
import { readRootDse } from '../client/root-dse.js';
import { SYNC_REQUEST, SyncRequestControl } from './sync-messages.js';
import { type ContentEvent, SyncStage } from './sync-stage.js';

/** The idle timeout applies to the refresh only: after it, a directory may send nothing for days. */
export interface ContentRequest extends SearchRequest, WaitOptions {
  /** The cookie of the last event that had one; null when nothing is known of the content. */
  readonly cookie: Buffer | null;
  /** Whether to deliver changes after the refresh, until the connection ends or the signal is aborted. */
  readonly persist: boolean;
}

/**
 * Result codes by which servers refuse content synchronization: in general, for this search, or for this
 * account.
 */
const REFUSALS: readonly number[] = [
  ResultCode.protocolError,
  ResultCode.unavailableCriticalExtension,
  ResultCode.inappropriateMatching,
  ResultCode.insufficientAccessRights,
  ResultCode.unwillingToPerform,
];

/**
 * The refusals that the cookie can cause. OpenLDAP answers unwillingToPerform when its state is older than
 * the cookie, which happens after a crash or a restore from a backup.
 */
const REFUSALS_OF_COOKIES: readonly number[] = [ResultCode.protocolError, ResultCode.unwillingToPerform];

/**
 * Follows the content of a search by LDAP content synchronization (RFC 4533). Without `persist` the generator
 * ends after `refreshed`; with `persist` it never returns normally. Cookies are withheld until the refresh is
 * complete, because an earlier cookie covers less than the events before it.
 * @throws {RefreshRequiredError} when the cookie is too old or not understood: start again without one
 * @throws {ContentSyncRefusedError} when content synchronization is not available, or not reliable
 * @throws {LimitExceededError} when the account may not read everything
 * @throws {LdapError} when the connection fails; the signal's reason
 */
export async function* followContent(
  connection: LdapConnection,
  request: ContentRequest,
): AsyncGenerator<ContentEvent, void, undefined> {
  await requireUsableServer(connection, request);
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
    const refusal = toSyncError(error, { cookie, isRefreshed: stage.isRefreshed });
    throw refusal ?? (await limitErrorOf(error, connection)) ?? withBase(error, request.base);
  }
  if (request.persist) throw new LdapClosedError('The directory server ended the content synchronization');
}

/** Checks the root DSE and the contextCSN of the server before its results are used. */
async function requireUsableServer(connection: LdapConnection, request: ContentRequest): Promise<void> {
  const { namingContexts, supportedControls } = await readRootDse(connection, request);
  if (supportedControls.length > 0 && !supportedControls.includes(SYNC_REQUEST)) {
    throw new ContentSyncRefusedError('The directory server does not support content synchronization');
  }
  const suffix = suffixOf(request.base, namingContexts);
  const context = suffix === undefined ? null : await readContext(connection, suffix, request);
  if (context?.isBehind !== true) return;
  throw new ContentSyncRefusedError(
    'The directory server has entries that are newer than its contextCSN, and would omit them from content ' +
      'synchronization. OpenLDAP does so after a crash, until the next change (syncprov-checkpoint 1 1 prevents ' +
      'it)',
  );
}

/** A result after the refresh is not a refusal: the caller can request content synchronization again. */
function toSyncError(
  error: LdapResultError,
  { cookie, isRefreshed }: { cookie: Buffer | null; isRefreshed: boolean },
): LdapError | null {
  const { code, codeName } = error;
  if (code === ResultCode['e-syncRefreshRequired']) return new RefreshRequiredError(error);
  if (!isRefreshed && REFUSALS.includes(code)) {
    if (cookie !== null && REFUSALS_OF_COOKIES.includes(code)) return new RefreshRequiredError(error);
    const message = `The directory server refuses content synchronization: ${codeName} (${code})`;
    return new ContentSyncRefusedError(message, { cause: error });
  }
  return null;
}
