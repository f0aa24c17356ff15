import type { SearchMessage } from '../client/ldap-connection.js';
import { RefreshRequiredError } from './content-sync-error.js';
import type { Entry } from '../entry.js';
import { LdapProtocolError } from '../client/ldap-error.js';
import type { ResponseControl } from '../client/message.js';
import { ResultCode } from '../client/result-code.js';
import { parseSyncDone, parseSyncInfo, parseSyncState, SYNC_INFO, type SyncInfo } from './sync-messages.js';

/**
 * What to do with a set of entries to make it the content of the server. UUIDs are written in lower case, with
 * dashes. A cookie, which is bytes that only the server understands, stands for the content after its event.
 */
export type ContentEvent =
  /** This entry is in the content, as it is here: new or changed. */
  | { readonly kind: 'entry'; readonly uuid: string; readonly entry: Entry; readonly cookie: Buffer | null }
  /** These entries are in the content still, unchanged. */
  | { readonly kind: 'present'; readonly uuids: readonly string[] }
  | { readonly kind: 'deleted'; readonly uuids: readonly string[]; readonly cookie: Buffer | null }
  /** Once, when the set is up to date, but for entries that no event has mentioned if those are gone. */
  | { readonly kind: 'refreshed'; readonly unmentionedAreGone: boolean; readonly cookie: Buffer | null }
  /** Nothing of the content has changed since the last event. */
  | { readonly kind: 'cookie'; readonly cookie: Buffer };

/**
 * Where a synchronisation is, and what a message means there (RFC 4533 §3.3 and §3.4). A refresh tells either what
 * is still present, after which the rest is gone, or what has been deleted, after which the rest is present; or the
 * one and then the other.
 */
export class SyncStage {
  private refreshed = false;
  private unmentionedAreGone: boolean;
  private cookie: Buffer | null = null;

  /** @param hasCookie without one, whatever is not mentioned is gone: the server cannot know what we have */
  constructor(private readonly hasCookie: boolean) {
    this.unmentionedAreGone = !hasCookie;
  }

  get isRefreshed(): boolean {
    return this.refreshed;
  }

  /** @throws {LdapProtocolError} when it means nothing; {RefreshRequiredError} when the cookie meant nothing */
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
    if (done === null) throw new LdapProtocolError('the end of a refresh without saying what it was');
    this.pass(done.cookie);
    if (!done.refreshDeletes) this.unmentionedAreGone = true;
    yield* this.endRefresh();
  }

  private *endRefresh(): Generator<ContentEvent, void, undefined> {
    if (this.refreshed) return;
    this.refreshed = true;
    yield { kind: 'refreshed', unmentionedAreGone: this.unmentionedAreGone, cookie: this.cookie };
  }

  /** What may be told of a cookie now: during the refresh nothing, and an empty one is none. */
  private pass(cookie: Buffer | null): Buffer | null {
    if (cookie === null) return null;
    if (cookie.length === 0) {
      if (!this.hasCookie || this.refreshed) return null;
      // OpenLDAP does so where it makes nothing of ours. It sends everything as new, but ends as if it had told
      // what was deleted.
      throw new RefreshRequiredError({ code: ResultCode.syncRefreshRequired, diagnostic: '' });
    }
    if (this.refreshed) return cookie;
    this.cookie = cookie;
    return null;
  }
}
