import type { SearchMessage } from '../client/ldap-connection.js';
import { RefreshRequiredError } from './content-sync-error.js';
import type { Entry } from '../entry.js';
import { LdapProtocolError } from '../client/ldap-error.js';
import type { ResponseControl } from '../client/message.js';
import { ResultCode } from '../client/result-code.js';
import { parseSyncDone, parseSyncInfo, parseSyncState, SYNC_INFO, type SyncInfo } from './sync-messages.js';

/**
 * A change that makes a set of entries equal to the content of the server. UUIDs are in lower case with
 * dashes. A cookie represents the content after its event.
 */
export type ContentEvent =
  /** The entry is in the content, with these attributes: it is new or changed. */
  | { readonly kind: 'entry'; readonly uuid: string; readonly entry: Entry; readonly cookie: Buffer | null }
  /** The entries are still in the content, unchanged. */
  | { readonly kind: 'present'; readonly uuids: readonly string[] }
  | { readonly kind: 'deleted'; readonly uuids: readonly string[]; readonly cookie: Buffer | null }
  /**
   * Sent once. If `unmentionedAreGone`, entries that no event has mentioned were deleted; otherwise they are
   * unchanged.
   */
  | { readonly kind: 'refreshed'; readonly unmentionedAreGone: boolean; readonly cookie: Buffer | null }
  /** A new cookie; the content has not changed since the last event. */
  | { readonly kind: 'cookie'; readonly cookie: Buffer };

/**
 * The meaning of each message in the stages of a content synchronization (RFC 4533 §3.3 and §3.4). A refresh
 * lists the entries that are still present (all others were deleted), or those that were deleted (all others
 * are still present), or first the present entries and then the deleted ones.
 */
export class SyncStage {
  private refreshed = false;
  private unmentionedAreGone: boolean;
  private cookie: Buffer | null = null;

  /** @param hasCookie if false, the server cannot know the content of the consumer: what it omits is gone */
  constructor(private readonly hasCookie: boolean) {
    this.unmentionedAreGone = !hasCookie;
  }

  get isRefreshed(): boolean {
    return this.refreshed;
  }

  /**
   * @throws {LdapProtocolError} when the message is invalid in this stage
   * @throws {RefreshRequiredError} when the server did not understand the cookie
   */
  *take(message: SearchMessage): Generator<ContentEvent, void, undefined> {
    if (message.kind === 'entry') yield this.takeEntry(message.entry, message.controls);
    else if (message.kind === 'done') yield* this.takeDone(message.controls);
    else if (message.oid === SYNC_INFO) yield* this.takeInfo(parseSyncInfo(message.value));
  }

  private takeEntry(entry: Entry, controls: readonly ResponseControl[]): ContentEvent {
    const { state, uuid, cookie } = parseSyncState(controls);
    if (state === 'present') return { kind: 'present', uuids: [uuid] };
    if (state === 'delete') return { kind: 'deleted', uuids: [uuid], cookie: this.pass(cookie) };
    return { kind: 'entry', uuid, entry, cookie: this.pass(cookie) };
  }

  private *takeInfo(info: SyncInfo): Generator<ContentEvent, void, undefined> {
    const cookie = this.pass(info.cookie);
    switch (info.kind) {
      case 'idSet':
        if (info.refreshDeletes) {
          yield { kind: 'deleted', uuids: info.uuids, cookie };
          return;
        }
        yield { kind: 'present', uuids: info.uuids };
        break;
      case 'refreshPresent':
        if (!this.refreshed) this.unmentionedAreGone = true;
        if (info.refreshDone) yield* this.endRefresh();
        break;
      case 'refreshDelete':
        if (info.refreshDone) yield* this.endRefresh();
        break;
      case 'newCookie':
        break;
    }
    if (cookie !== null) yield { kind: 'cookie', cookie };
  }

  private *takeDone(controls: readonly ResponseControl[]): Generator<ContentEvent, void, undefined> {
    if (this.refreshed) return;
    const done = parseSyncDone(controls);
    if (done === null) throw new LdapProtocolError('the end of a refresh without its kind');
    this.pass(done.cookie);
    if (!done.refreshDeletes) this.unmentionedAreGone = true;
    yield* this.endRefresh();
  }

  private *endRefresh(): Generator<ContentEvent, void, undefined> {
    if (this.refreshed) return;
    this.refreshed = true;
    yield { kind: 'refreshed', unmentionedAreGone: this.unmentionedAreGone, cookie: this.cookie };
  }

  /** The cookie to pass to the consumer now: none during the refresh, and none for an empty cookie. */
  private pass(cookie: Buffer | null): Buffer | null {
    if (cookie === null) return null;
    if (cookie.length === 0) {
      if (!this.hasCookie || this.refreshed) return null;
      // OpenLDAP sends an empty cookie when it does not understand the request's cookie. It then sends all
      // entries as new, but ends the refresh as if it had listed the deleted entries.
      throw new RefreshRequiredError({ code: ResultCode['e-syncRefreshRequired'], diagnostic: '' });
    }
    if (this.refreshed) return cookie;
    this.cookie = cookie;
    return null;
  }
}
