import { hash } from 'node:crypto';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import type { SourceEntry, SourceRecord } from './source.js';

/** Limits of the records that are kept together. A photo has many thousand bytes. */
const BATCH = { records: 500, bytes: 500_000 };

/** Yields entries as records, several together. */
export async function* recordsOfEntries(
  entries: AsyncIterable<SourceEntry>,
): AsyncGenerator<readonly SourceRecord[]> {
  let records: SourceRecord[] = [];
  let bytes = 0;
  for await (const each of entries) {
    records.push(recordOf(each));
    bytes += each.entry.encoded?.length ?? 0;
    if (records.length < BATCH.records && bytes < BATCH.bytes) continue;
    yield records;
    records = [];
    bytes = 0;
  }
  if (records.length > 0) yield records;
}

function recordOf(each: SourceEntry): SourceRecord {
  const { encoded, dn } = each.entry;
  return {
    kind: each.kind,
    digest: encoded === null ? null : digestOfBytes(encoded),
    // It is not needed if the mirror is empty.
    get dnKey() {
      return keyOfDn(dn);
    },
    parse: () => each,
  };
}

/** See SourceRecord.digest. */
export function digestOfBytes(bytes: Buffer): string {
  return hash('sha256', bytes, 'hex').slice(0, 32);
}
