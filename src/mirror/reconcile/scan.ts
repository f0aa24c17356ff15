import { setImmediate as yieldToOthers, setTimeout as sleep } from 'node:timers/promises';
import { type Field, pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Writer } from '../../database/statements/writer.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { weigh } from '../../sources/delta.js';
import { KINDS, type KnownEntry, type LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { EntryKind } from '../../sources/source.js';
import { userFields } from '../../users/user.fields.js';
import { EntryComparer } from './entry-comparer.js';
import {
  readAside,
  readAsideAttributes,
  readKnownRows,
  readScannedRows,
  type ScannedRow,
  sweepStamps,
  writeStamps,
} from './stored-scan.js';

/**
 * How much of each entry is compared. `look`: whether it is there, its DN, and whether the server says that it was
 * changed; an entry that was changed is compared as a whole. `identities`: also everything about groups, since a server
 * rewrites them without a message (see findConsequences). `contents`: every attribute, and the bytes of some pictures.
 */
export type Depth = 'look' | 'identities' | 'contents';

/** An entry that differs from the mirror. */
export interface Suspect {
  readonly kind: EntryKind;
  readonly uuid: string;
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
  /** Number of the comparison of contents: each compares the pictures of other people. */
  readonly round: number;
  /** Leaves half of the time to others. */
  readonly isPatient: boolean;
  readonly signal: AbortSignal;
}

/** Entries that are compared at once, and about as many bytes. */
const BATCH = 500;
const BATCH_BYTES = 4_000_000;
/** Entries that are read with pictures at once: each may have megabytes. */
const WITH_PICTURES = 20;
/** After so many comparisons of contents the pictures of all people have been compared. */
export const PICTURE_ROUNDS = 24;
/** Milliseconds that a patient scan rests at most between two batches. */
const LONGEST_REST = 100;

/**
 * Compares every entry of a directory with the mirror, page by page, and writes nothing but stamps. What it finds may be
 * outdated by the time it is read: it says which entries have to be read again, and never what is in them.
 */
export class Scan {
  private readonly suspects = new Map<string, Suspect>();
  /** Entries that have to be compared with their pictures. */
  private readonly doubtful: string[] = [];
  /** Fields with pictures. */
  private readonly pictures: readonly Field[];
  private entries = 0;
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
    const pictureAttributes = this.pictures.map(({ attribute }) => attribute);
    const asidePictures = await readAsideAttributes(this.manager, pictureAttributes);
    const comparer = new EntryComparer(this.mapping, asidePictures);
    for (const kind of KINDS) await this.scanKind(kind, comparer);
    if (depth === 'contents')
      for (const [index, { attribute }] of this.pictures.entries())
        await this.comparePresence(attribute, index, comparer);
    await this.compareDoubtful(comparer);
    if (depth === 'contents') await sweepStamps(this.manager);
    const seconds = (performance.now() - begun) / 1000;
    return { depth, suspects: [...this.suspects.values()], entries: this.entries, seconds };
  }

  private async scanKind(kind: EntryKind, comparer: EntryComparer): Promise<void> {
    const { depth } = this.options;
    const isThorough = depth === 'contents' || (depth === 'identities' && kind === 'group');
    const entries = isThorough
      ? this.directory.readWithoutPictures(this.connection, kind)
      : this.directory.readStamps(this.connection, kind);
    const aside = await readAside(this.manager, kind);
    const seen = new Set<string>();
    for await (const batch of batchesOf(entries)) {
      const uuids = batch.map(({ uuid }) => uuid);
      const rows = await readScannedRows(this.manager, kind, uuids, this.pictures);
      const stamps = new Map<string, string>();
      for (const known of batch) {
        seen.add(known.uuid);
        const row = rows.get(known.uuid);
        if (row === undefined) continue;
        const isAside = row.dnKey === null && aside.has(known.uuid);
        if (isThorough && !comparer.isSame(known, row, 'mirror')) this.suspect(known);
        else this.compareIdentity(known, row, { isAside, isThorough }, stamps);
      }
      await writeStamps(this.manager, stamps);
      await this.pause();
    }
    this.entries += seen.size;
    await this.findGone(kind, seen);
  }

  /**
   * @param isAside the entry is in quarantine
   * @param isThorough it was compared, except for its pictures
   * @param stamps takes what the server says of an entry of which nothing was known
   */
  private compareIdentity(
    known: KnownEntry,
    row: ScannedRow,
    { isAside, isThorough }: { readonly isAside: boolean; readonly isThorough: boolean },
    stamps: Map<string, string>,
  ): void {
    const stamp = this.directory.stampOf(known.entry);
    const isUnknown = stamp !== null && row.stamp === null;
    const isChanged = stamp !== null && row.stamp !== null && stamp !== row.stamp;
    if (!isAside && row.dnKey !== keyOfDn(known.entry.dn)) this.suspect(known);
    else if (isChanged || (isUnknown && !isThorough) || this.isTurnOf(known)) this.doubtful.push(known.uuid);
    else if (isUnknown) stamps.set(known.uuid, stamp);
  }

  /** What is known and was not seen. */
  private async findGone(kind: EntryKind, seen: ReadonlySet<string>): Promise<void> {
    for await (const rows of readKnownRows(this.manager, kind)) {
      for (const { uuid } of rows) if (!seen.has(uuid)) this.suspect({ kind, uuid });
      await this.pause();
    }
  }

  /** Who has a picture is found without reading it. */
  private async comparePresence(attribute: string, index: number, comparer: EntryComparer): Promise<void> {
    const having = await this.readHaving(attribute);
    if (having === null) return;
    for await (const rows of readKnownRows(this.manager, 'person', this.pictures)) {
      for (const { uuid, isMirrored, hasPictures } of rows) {
        const isHeld = hasPictures[index] === true;
        if (!isMirrored || isHeld === having.has(uuid)) continue;
        if (isHeld || !comparer.hasAside(uuid, attribute)) this.suspect({ kind: 'person', uuid });
      }
      await this.pause();
    }
  }

  /** Null: the server does not search for it. */
  private async readHaving(attribute: string): Promise<Set<string> | null> {
    const having = new Set<string>();
    try {
      for await (const { uuid } of this.directory.readHaving(this.connection, attribute)) having.add(uuid);
      return having;
    } catch (error) {
      if (error instanceof LdapResultError) return null;
      throw error;
    }
  }

  /** Compares with their pictures the entries that may have been changed. */
  private async compareDoubtful(comparer: EntryComparer): Promise<void> {
    for (let start = 0; start < this.doubtful.length; start += WITH_PICTURES) {
      const uuids = this.doubtful.slice(start, start + WITH_PICTURES);
      const stamps = new Map<string, string>();
      const rows = {
        person: await readScannedRows(this.manager, 'person', uuids, this.pictures),
        group: await readScannedRows(this.manager, 'group', uuids, []),
      };
      // After the rows: what is changed between the two is found to differ, and is read again.
      for (const known of await this.directory.readAgain(this.connection, uuids)) {
        const row = rows[known.kind].get(known.uuid);
        if (row === undefined) continue;
        const stamp = this.directory.stampOf(known.entry);
        if (!comparer.isSame(known, row, 'entry')) this.suspect(known);
        else if (stamp !== null) stamps.set(known.uuid, stamp);
      }
      await writeStamps(this.manager, stamps);
      await this.pause();
    }
  }

  /** Whether the pictures of a person are compared this time, although nothing says that they have changed. */
  private isTurnOf({ kind, uuid }: KnownEntry): boolean {
    const { depth, round } = this.options;
    if (kind !== 'person' || depth !== 'contents') return false;
    return parseInt(uuid.slice(0, 4), 16) % PICTURE_ROUNDS === round % PICTURE_ROUNDS;
  }

  private suspect({ kind, uuid }: Suspect): void {
    this.suspects.set(`${kind} ${uuid}`, { kind, uuid });
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
