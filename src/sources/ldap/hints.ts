import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerTraits } from '../../config/model/presets/server-traits.js';
import { SYNC_REQUEST } from '../../ldap/client/content-sync.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { LimitExceededError, type RootDse } from '../../ldap/client/server-kind.js';
import type { Filter } from '../../ldap/filter/filter-parser.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { Hint } from '../directory.js';
import { KINDS } from '../source.js';
import { CountedHints } from './counted-hints.js';
import { PushedHints } from './pushed-hints.js';
import { type HintedServer, type HintSource, SECOND_MS } from './hint-source.js';

/** Later than every change (RFC 4517 §3.3.13). */
const LATEST_TIME = '99991231235959Z';
const NO_COMPARISON =
  'The directory server refuses to compare times of changes: all entries are listed each time';

/** Chooses the best way that the server offers and the model permits. */
export async function hintSourceOf(
  directory: HintedServer,
  { supportedControls, kind }: RootDse,
  { pushesChanges, counter }: Pick<ServerTraits, 'pushesChanges' | 'counter'>,
): Promise<HintSource> {
  const { follow } = directory.config;
  const refusals: string[] = [];
  if (follow === 'poll') refusals.push('The model sets follow: poll');
  else if (!supportedControls.includes(SYNC_REQUEST)) {
    // Where changes are numbered, nothing is missed.
    if (counter === null)
      refusals.push('The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)');
  } else if (follow === null && !pushesChanges)
    refusals.push(
      `Content synchronization (RFC 4533) of ${kind} is used only with follow: push in the model`,
    );
  else {
    const pushed = new PushedHints(directory);
    const refusal = await pushed.findRefusal();
    if (refusal === null) return pushed;
    refusals.push(refusal);
  }
  if (counter !== null) {
    const counted = new CountedHints(directory, counter, refusals);
    if (await counted.isOffered()) return counted;
    refusals.push(`The account sees no numbers of changes (${counter.changed}, ${counter.latest})`);
  }
  const polled = new PolledHints(directory, refusals);
  if (!(await polled.isCompared())) refusals.push(NO_COMPARISON);
  return polled;
}

/** Changes by the time of the last one, which shows neither deletions nor renamed entries. */
class PolledHints implements HintSource {
  readonly mode = 'POLLED';

  constructor(
    private readonly directory: HintedServer,
    readonly refusals: readonly string[],
  ) {}

  /** Whether the server shows and compares times. */
  async isCompared(): Promise<boolean> {
    return (await this.look(LATEST_TIME, true)).next !== '';
  }

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    let latest = '';
    let seenAt = 0;
    // Whether all entries with the latest time were named after its second.
    let isSettled = false;
    for (;;) {
      await sleep(this.directory.config.syncSeconds * 1000, undefined, { signal });
      const begun = performance.now();
      const { uuids, next } = await this.look(latest, isSettled);
      if (next === latest) isSettled ||= begun - seenAt > SECOND_MS;
      else [latest, seenAt, isSettled] = [next, performance.now(), false];
      if (uuids.length > 0) yield uuids;
      if (latest === '') yield 'scan';
    }
  }

  /** Reads which entries have the latest time or a newer one. `next` is empty if the server shows or compares no times. */
  private async look(latest: string, isSettled: boolean): Promise<{ uuids: string[]; next: string }> {
    const { modifiedAt, uuid, connection, searches } = this.directory;
    const uuids: string[] = [];
    let next = latest;
    for (const kind of KINDS) {
      const { filter } = searches[kind];
      const since: Filter = { kind: 'greaterOrEqual', attribute: modifiedAt, value: Buffer.from(latest) };
      const request = {
        ...searches[kind],
        filter: latest === '' ? filter : ({ kind: 'and', filters: [filter, since] } as const),
        attributes: [uuid, modifiedAt],
      };
      try {
        for await (const entry of readPaged(connection, request)) {
          const [time = ''] = entry.text(modifiedAt);
          if (time > next) next = time;
          if (latest === '' || (isSettled && time === latest)) continue;
          const identity = uuidOfEntry(entry, uuid);
          if (identity !== null && this.directory.covers(kind, entry.dn)) uuids.push(identity);
        }
      } catch (error) {
        // A server that does not compare times is only scanned.
        if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
        return { uuids, next: '' };
      }
    }
    return { uuids, next };
  }
}
