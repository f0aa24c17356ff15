import { setImmediate as yieldToOthers, setTimeout as sleep } from 'node:timers/promises';
import { type Field, pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Writer } from '../../database/statements/writer.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { weigh } from '../../sources/delta.js';
import { KINDS, type KnownEntry, type LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { EntryKind } from '../../sources/source.js';
import { userFields } from '../../users/user.fields.js';
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
 * How much of each entry is compared. `look`: whether it is there, its DN, and whether the server says that it was
 * changed; an entry that was changed is compared as a whole. `identities`: also everything about groups, since a server
 * rewrites them without a message (see findConsequences). `contents`: every attribute, and the bytes of all pictures.
 */
export type Depth = 'look' | 'identities' | 'contents';

/** An entry that differs from the mirror. */
export interface Suspect {
  readonly kind: EntryKind;
  readonly uuid: string;
  /** The DN under which the server has listed it; null: it is mirrored or in quarantine, and was not listed. */
  readonly dn: string | null;
}

export interface ScanResult {
  readonly depth: Depth;
  readonly suspects: readonly Suspect[];
  /** How many entries there are. */
  readonly entries: number;
  readonly seconds: number;
}

export interface ScanOptions {
  readonly depth: Depth;
  /** Leaves half of the time to others. */
  readonly isPatient: boolean;
  readonly signal: AbortSignal;
}

/** Entries that are compared with one query, and about as many bytes. */
const BATCH = 500;
const BATCH_BYTES = 4_000_000;
/** Entries that are read with pictures at once: each may have megabytes. */
const WITH_PICTURES = 20;
/** About as many bytes of entries as are compared before other work of the process gets its turn. */
export const SLICE_BYTES = 128_000;
/** Milliseconds that a patient scan rests at most between two batches. */
const LONGEST_REST = 100;

/**
 * Compares every entry of a directory with the mirror, page by page, and writes nothing but stamps. What it finds may be
 * outdated by the time it is read: it says which entries have to be read again, and never what is in them.
 */
export class Scan {
  private readonly suspects = new Map<string, Suspect>();
  /** Entries of which only the stamp was read, and that have to be compared as a whole. */
  private readonly doubtful: Suspect[] = [];
  /** The fields of a user that are pictures. */
  private readonly pictures: readonly Field[];
  private entries = 0;
  /** About as many bytes of entries as were compared since other work had its turn. */
  private compared = 0;
  private pausedAt = performance.now();

  constructor(
    private readonly manager: Writer,
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    private readonly mapping: DirectoryMapping,
    private readonly options: ScanOptions,
  ) {
    this.pictures = pictureFields(userFields(mapping.people));
  }

  /** @throws LdapError or SourceError when the directory cannot be read to its end; the signal's reason */
  async run(): Promise<ScanResult> {
    const begun = performance.now();
    const { depth } = this.options;
    const attributes = this.pictures.map(({ attribute }) => attribute);
    const comparer = new EntryComparer(this.mapping, await readAside(this.manager, attributes));
    for (const kind of KINDS) await this.scanKind(kind, comparer);
    await this.compareDoubtful(comparer);
    if (depth === 'contents') await sweepStamps(this.manager);
    const seconds = (performance.now() - begun) / 1000;
    return { depth, suspects: [...this.suspects.values()], entries: this.entries, seconds };
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

  /** @param confirmed takes the entry if it is the same, and the server says otherwise of it than is known */
  private async compareWhole(
    known: KnownEntry,
    row: ScannedRow,
    comparer: EntryComparer,
    confirmed: Confirmed[],
  ): Promise<void> {
    const stamp = this.directory.stampOf(known.entry);
    if (!(await comparer.isSame(known, row))) this.suspect(suspectOf(known));
    else if (stamp !== null && stamp !== row.stamp) confirmed.push({ row, stamp });
  }

  private compareIdentity(known: KnownEntry, row: ScannedRow, isAside: boolean): void {
    const stamp = this.directory.stampOf(known.entry);
    const isElsewhere = row.dnKey !== keyOfDn(known.entry.dn);
    if (isElsewhere && !(row.dnKey === null && isAside)) this.suspect(suspectOf(known));
    else if (stamp !== null && stamp !== row.stamp) this.doubtful.push(suspectOf(known));
  }

  /** What is known and was not seen. */
  private async findGone(kind: EntryKind, seen: ReadonlySet<string>): Promise<void> {
    for await (const uuids of readKnownUuids(this.manager, kind)) {
      for (const uuid of uuids) if (!seen.has(uuid)) this.suspect({ kind, uuid, dn: null });
      await this.pause();
    }
  }

  /** Compares as a whole the entries that may have been changed. */
  private async compareDoubtful(comparer: EntryComparer): Promise<void> {
    for (const kind of KINDS) {
      const doubtful = this.doubtful.filter((each) => each.kind === kind);
      for (let start = 0; start < doubtful.length; start += WITH_PICTURES) {
        await this.compareSome(kind, doubtful.slice(start, start + WITH_PICTURES), comparer);
        await this.pause();
      }
    }
  }

  private async compareSome(
    kind: EntryKind,
    doubtful: readonly Suspect[],
    comparer: EntryComparer,
  ): Promise<void> {
    const uuids = doubtful.map(({ uuid }) => uuid);
    // Before the entries: what is changed between the two is found to differ, and is read again.
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
    // It was listed a moment ago. Whether it has gone is for the follower to find out.
    for (const each of doubtful) if (!found.has(each.uuid)) this.suspect(each);
    await confirmStamps(this.manager, kind, confirmed);
  }

  private suspect(suspect: Suspect): void {
    this.suspects.set(`${suspect.kind} ${suspect.uuid}`, suspect);
  }

  /** Comparing computes hashes: without a break a batch of large groups would block the process for seconds. */
  private async yieldIfDue({ entry }: KnownEntry): Promise<void> {
    this.compared += weigh(entry);
    if (this.compared < SLICE_BYTES) return;
    this.compared = 0;
    await yieldToOthers();
  }

  private async pause(): Promise<void> {
    const { isPatient, signal } = this.options;
    signal.throwIfAborted();
    const spent = performance.now() - this.pausedAt;
    if (isPatient) await sleep(Math.min(spent, LONGEST_REST), undefined, { signal });
    else await yieldToOthers();
    this.pausedAt = performance.now();
  }
}

function suspectOf({ kind, uuid, entry }: KnownEntry): Suspect {
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
