import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerTraits } from '../../config/model/presets/server-traits.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { LimitExceededError } from '../../ldap/client/limit-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import type { Filter } from '../../ldap/filter/filter-parser.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { SYNC_REQUEST } from '../../ldap/sync/sync-messages.js';
import type { Hint } from '../directory.js';
import { KINDS } from '../source.js';
import { CountedHints } from './counted-hints.js';
import { PushedHints } from './pushed-hints.js';
import type { HintedServer, HintSource } from './hint-source.js';

/** Chooses the best way that the server offers and the model permits. */
export async function hintSourceOf(
  directory: HintedServer,
  { pushesChanges, counter }: Pick<ServerTraits, 'pushesChanges' | 'counter'>,
): Promise<HintSource> {
  const { follow } = directory.config;
  const { supportedControls, kind } = await readRootDse(directory.connection);
  const refusals: string[] = [];
  if (follow === 'asked') refusals.push('The model sets follow: asked');
  else if (!supportedControls.includes(SYNC_REQUEST))
    refusals.push('The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)');
  else if (follow === 'auto' && !pushesChanges)
    refusals.push(
      `Content synchronization (RFC 4533) of ${kind} is used only with follow: told in the model`,
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
  return new PolledHints(directory, refusals);
}

/** Changes by the time of the last one, which shows neither deletions nor renamed entries. */
class PolledHints implements HintSource {
  readonly mode = 'POLLED';

  constructor(
    private readonly directory: HintedServer,
    readonly refusals: readonly string[],
  ) {}

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    const { config, modifiedAt, uuid, connection, searches } = this.directory;
    let latest = '';
    for (;;) {
      await sleep(config.syncSeconds * 1000, undefined, { signal });
      const uuids: string[] = [];
      let next = latest;
      for (const kind of KINDS) {
        const since: Filter = { kind: 'greaterOrEqual', attribute: modifiedAt, value: Buffer.from(latest) };
        const filter =
          latest === ''
            ? searches[kind].filter
            : ({ kind: 'and', filters: [searches[kind].filter, since] } as const);
        try {
          const request = { ...searches[kind], filter, attributes: [uuid, modifiedAt] };
          for await (const entry of readPaged(connection, request)) {
            const [time = ''] = entry.text(modifiedAt);
            const identity = uuidOfEntry(entry, uuid);
            if (time > next) next = time;
            if (latest !== '' && identity !== null && this.directory.covers(kind, entry.dn))
              uuids.push(identity);
          }
        } catch (error) {
          // A server that does not compare times is only scanned.
          if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
          next = '';
        }
      }
      latest = next;
      if (uuids.length > 0) yield uuids;
      if (latest === '') yield 'scan';
    }
  }
}
