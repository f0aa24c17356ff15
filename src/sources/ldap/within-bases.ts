import { Entry } from '../../ldap/entry.js';
import type { ContentEvent } from '../../ldap/sync/sync-stage.js';

/**
 * The events of a search for one kind of entries, which may be above several bases. An entry that is below none of them is
 * not part of the content: if it was, it has left.
 */
export async function* withinBases(
  events: AsyncIterable<ContentEvent>,
  covers: (dn: string) => boolean,
): AsyncGenerator<ContentEvent> {
  for await (const event of events) {
    if (event.kind !== 'entry') yield event;
    else if (covers(event.entry.dn)) yield { ...event, entry: withUuid(event.entry, event.uuid) };
    else yield { kind: 'deleted', uuids: [event.uuid], cookie: event.cookie };
  }
}

/** Adds the entryUUID from the protocol, which is known even if the account may not read the attribute. */
function withUuid(entry: Entry, uuid: string): Entry {
  if (entry.bytes('entryUUID').length > 0) return entry;
  return new Entry(entry.dn, [...entry.attributes, ['entryUUID', [Buffer.from(uuid)]]]);
}
