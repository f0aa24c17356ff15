import { setImmediate as yieldToOthers, setTimeout as sleep } from 'node:timers/promises';
import { chunksOf } from '../../common/chunks.js';
import { type Field, pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { weigh } from '../../sources/delta.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { KnownEntry } from '../../sources/ldap/listed-entries.js';
import { type EntryKind, KINDS } from '../../sources/source.js';
import { EntryComparer } from './entry-comparer.js';
import {
  confirmStamps,
  type Confirmed,
  readAside,
  readKnownUuids,
  readScannedRows,
  type ScannedRow,
  sweepStamps,
} from './stored-scan.js';

/**
 * How much of each entry is compared. `look`: whether it exists, its DN, and whether the server reports a
 * change; an entry with a reported change is compared as a whole. `identities`: also every attribute of
 * groups, because a server rewrites them without a message (see findConsequences). `contents`: every
 * attribute, and the bytes of all pictures.
 */
export type Depth = 'look' | 'identities' | 'contents';

/** An entry that differs from the mirror. */
export interface DifferingEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  /**
   * The DN under which the server listed the entry. Null if the entry is mirrored or quarantined and was not
   * listed.
   */
  readonly dn: string | null;
}

export interface ScanResult {
  readonly depth: Depth;
  readonly differing: readonly DifferingEntry[];
  readonly entries: number;
  readonly seconds: number;
}

interface ScanOptions {
  readonly depth: Depth;
  /** Whether the scan pauses for half of the time, so that other work can run. */
  readonly isThrottled: boolean;
  readonly signal: AbortSignal;
}

/** Maximum number of entries, and approximately of their bytes, that are compared with one query. */
const BATCH = 500;
const BATCH_BYTES = 4_000_000;
/** Number of entries that are read together with their pictures. Each may have several megabytes. */
const WITH_PICTURES = 20;
/** Approximate number of bytes of entries that are compared before other work of the process can run. */
export const SLICE_BYTES = 128_000;
/** Maximum pause between two batches of a throttled scan, in milliseconds. */
const LONGEST_PAUSE_MS = 100;

/**
 * Compares every entry of a directory with the mirror, page by page, and writes only stamps. Its findings may
 * be outdated when they are read: they name the entries that have to be read again, never their contents.
 */
export class Scan {
  private readonly differing = new Map<string, DifferingEntry>();
  /** Entries whose stamp differs, and that have to be compared as a whole. */
  private readonly doubtful: DifferingEntry[] = [];
  private readonly pictures: readonly Field[];
  private entries = 0;
  /** Approximate number of bytes of entries that were compared since the scan last yielded. */
  private compared = 0;
  private pausedAt = performance.now();

  constructor(
    private readonly manager: Writer,
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    private readonly mapping: DirectoryMapping,
    private readonly options: ScanOptions,
  ) {
    this.pictures = pictureFields(mapping.users.fields);
  }

  /** @throws LdapError or SourceError if the directory cannot be read to its end; the reason of the signal */
  async run(): Promise<ScanResult> {
    const begun = performance.now();
    const { depth } = this.options;
    const attributes = this.pictures.map(({ attribute }) => attribute);
    const comparer = new EntryComparer(this.manager, this.mapping, await readAside(this.manager, attributes));
    for (const kind of KINDS) await this.scanKind(kind, comparer);
    await this.compareDoubtful(comparer);
    if (depth === 'contents') await sweepStamps(this.manager);
    const seconds = (performance.now() - begun) / 1000;
    return { depth, differing: [...this.differing.values()], entries: this.entries, seconds };
  }

  private async scanKind(kind: EntryKind, comparer: EntryComparer): Promise<void> {
    const { depth } = this.options;
    const isWhole = depth === 'contents' || (depth === 'identities' && kind === 'group');
    const seen = new Set<string>();
    for await (const batch of batchesOf(this.directory.readAll(this.connection, kind, isWhole))) {
      const uuids = batch.map(({ uuid }) => uuid);
      const rows = await readScannedRows(this.manager, kind, uuids, this.pictures);
      const confirmed: Confirmed[] = [];
      for (const known of batch) {
        seen.add(known.uuid);
        const row = rows.get(known.uuid);
        if (row === undefined) continue;
        if (isWhole) await this.compareWhole(known, row, comparer, confirmed);
        else this.compareIdentity(known, row, comparer.isAside(known));
        await this.yieldIfDue(known);
      }
      await confirmStamps(this.manager, kind, confirmed);
      await this.pause();
    }
    this.entries += seen.size;
    await this.findGone(kind, seen);
  }

  /**
   * @param confirmed receives the entry if it equals its row but its stamp on the server differs from the
   *   stored one
   */
  private async compareWhole(
    known: KnownEntry,
    row: ScannedRow,
    comparer: EntryComparer,
    confirmed: Confirmed[],
  ): Promise<void> {
    const stamp = this.directory.stampOf(known.entry);
    if (!(await comparer.isSame(known, row))) this.addDiffering(differingEntryOf(known));
    else if (stamp !== null && stamp !== row.stamp) confirmed.push({ row, stamp });
  }

  private compareIdentity(known: KnownEntry, row: ScannedRow, isAside: boolean): void {
    const stamp = this.directory.stampOf(known.entry);
    const isElsewhere = row.dnKey !== keyOfDn(known.entry.dn);
    if (isElsewhere && !(row.dnKey === null && isAside)) this.addDiffering(differingEntryOf(known));
    else if (stamp !== null && stamp !== row.stamp) this.doubtful.push(differingEntryOf(known));
  }

  private async findGone(kind: EntryKind, seen: ReadonlySet<string>): Promise<void> {
    for await (const uuids of readKnownUuids(this.manager, kind)) {
      for (const uuid of uuids) if (!seen.has(uuid)) this.addDiffering({ kind, uuid, dn: null });
      await this.pause();
    }
  }

  private async compareDoubtful(comparer: EntryComparer): Promise<void> {
    for (const kind of KINDS) {
      const doubtful = this.doubtful.filter((each) => each.kind === kind);
      for (const some of chunksOf(doubtful, WITH_PICTURES)) {
        await this.compareSome(kind, some, comparer);
        await this.pause();
      }
    }
  }

  private async compareSome(
    kind: EntryKind,
    doubtful: readonly DifferingEntry[],
    comparer: EntryComparer,
  ): Promise<void> {
    const uuids = doubtful.map(({ uuid }) => uuid);
    // Rows are read before the entries. A change between the two is found as a difference, and the entry is
    // read again.
    const rows = await readScannedRows(this.manager, kind, uuids, this.pictures);
    const confirmed: Confirmed[] = [];
    const found = new Set<string>();
    for (const known of await this.directory.readAgain(this.connection, uuids)) {
      const row = rows.get(known.uuid);
      if (known.kind !== kind || row === undefined) continue;
      found.add(known.uuid);
      await this.compareWhole(known, row, comparer, confirmed);
      await this.yieldIfDue(known);
    }
    // The entry was listed a moment ago. The follower checks whether it has been deleted.
    for (const each of doubtful) if (!found.has(each.uuid)) this.addDiffering(each);
    await confirmStamps(this.manager, kind, confirmed);
  }

  private addDiffering(entry: DifferingEntry): void {
    this.differing.set(`${entry.kind} ${entry.uuid}`, entry);
  }

  /**
   * Comparing computes hashes: without a break a batch of large groups would block the process for seconds.
   */
  private async yieldIfDue({ entry }: KnownEntry): Promise<void> {
    this.compared += weigh(entry);
    if (this.compared < SLICE_BYTES) return;
    this.compared = 0;
    await yieldToOthers();
  }

  private async pause(): Promise<void> {
    const { isThrottled, signal } = this.options;
    signal.throwIfAborted();
    const spent = performance.now() - this.pausedAt;
    if (isThrottled) await sleep(Math.min(spent, LONGEST_PAUSE_MS), undefined, { signal });
    else await yieldToOthers();
    this.pausedAt = performance.now();
  }
}

function differingEntryOf({ kind, uuid, entry }: KnownEntry): DifferingEntry {
  return { kind, uuid, dn: entry.dn };
}

async function* batchesOf(entries: AsyncIterable<KnownEntry>): AsyncGenerator<KnownEntry[]> {
  let batch: KnownEntry[] = [];
  let weight = 0;
  for await (const known of entries) {
    batch.push(known);
    weight += weigh(known.entry);
    if (batch.length < BATCH && weight < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    weight = 0;
  }
  if (batch.length > 0) yield batch;
}
