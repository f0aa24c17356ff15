import { type Field, pictureFields } from '../../common/field.js';
import { inSteps } from '../../common/steps.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { mapGroupInSteps, mapPerson } from '../map/map.js';
import type { PictureStore } from '../apply/picture-store.js';
import { gather } from '../map/relate.js';
import type { MappedGroup, MappedPerson, Quarantined, Snapshot } from '../map/snapshot.js';
import type { SourceEntry } from '../../sources/source.js';

/** The progress of a run: the number of entries read so far, or the start of a later stage. */
export type ProgressStep =
  | { readonly stage: 'read'; readonly entries: number }
  | { readonly stage: 'plan' }
  | { readonly stage: 'apply' };

export type Progress = (step: ProgressStep) => void;

const PROGRESS_INTERVAL = 1000;

type Entries = AsyncIterable<SourceEntry> | Iterable<SourceEntry>;

/** Takes the entries of a source as they are read. */
export interface EntryReceiver {
  /** @param digest of its record (SourceRecord.digest); null: it is not known, or part of the entry is omitted */
  addPerson(person: MappedPerson, digest: string | null): Promise<void> | void;
  addGroup(group: MappedGroup, digest: string | null): Promise<void> | void;
  readonly quarantined: Quarantined[];
}

/** Keeps all entries. */
export class SnapshotReceiver implements EntryReceiver {
  readonly people: MappedPerson[] = [];
  readonly groups: MappedGroup[] = [];
  readonly quarantined: Quarantined[] = [];

  addPerson(person: MappedPerson): void {
    this.people.push(person);
  }

  addGroup(group: MappedGroup): void {
    this.groups.push(group);
  }

  gather(): Snapshot {
    return gather(this.people, this.groups, this.quarantined);
  }
}

/** Reads entries into memory: see readEntries. */
export async function readSnapshot(
  entries: Entries,
  mapping: DirectoryMapping,
  pictures: PictureStore,
  signal: AbortSignal,
): Promise<Snapshot> {
  const receiver = new SnapshotReceiver();
  await readEntries(entries, receiver, { mapping, pictures, signal });
  return receiver.gather();
}

export interface ReadOptions {
  readonly mapping: DirectoryMapping;
  readonly pictures: PictureStore;
  readonly signal: AbortSignal;
  readonly progress?: Progress | undefined;
}

/**
 * Reads entries to the end of the source. Any error ends the run before the mirror has changed.
 * @throws the errors of the source, or the signal's reason when the run is aborted
 */
async function readEntries(entries: Entries, receiver: EntryReceiver, options: ReadOptions): Promise<void> {
  const mapper = new EntryMapper(receiver, options);
  for await (const each of entries) await mapper.take(each);
  await mapper.finish();
}

/** Maps entries one by one, and gives them to a receiver. */
export class EntryMapper {
  private count = 0;
  private readonly pictureFields: readonly Field[];

  constructor(
    private readonly receiver: EntryReceiver,
    private readonly options: ReadOptions,
  ) {
    this.pictureFields = pictureFields(options.mapping.users.fields);
  }

  /** @throws the signal's reason when the run is aborted */
  noteRead(entries: number): void {
    const { signal, progress } = this.options;
    signal.throwIfAborted();
    const before = Math.floor(this.count / PROGRESS_INTERVAL);
    this.count += entries;
    if (Math.floor(this.count / PROGRESS_INTERVAL) > before)
      progress?.({ stage: 'read', entries: this.count });
  }

  /**
   * @param digest of its record (SourceRecord.digest)
   * @throws the signal's reason when the run is aborted
   */
  async take({ kind, entry }: SourceEntry, digest: string | null = null): Promise<void> {
    this.noteRead(1);
    const { mapping, pictures } = this.options;
    const { quarantined } = this.receiver;
    const before = quarantined.length;
    // What is omitted is recorded by each run.
    const usable = () => (quarantined.length === before ? digest : null);
    if (kind === 'person') {
      const mapped = mapPerson(entry, mapping.users);
      quarantined.push(...mapped.quarantined);
      if (mapped.value === null) return;
      const person = await withPictures(mapped.value, this.pictureFields, pictures, quarantined);
      await this.receiver.addPerson(person, usable());
    } else {
      const mapped = await inSteps(mapGroupInSteps(entry, mapping.groups));
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null) await this.receiver.addGroup(mapped.value, usable());
    }
  }

  async finish(): Promise<void> {
    await this.options.pictures.flush();
  }
}

/** Omits a picture that cannot be displayed, and keeps the person. */
async function withPictures(
  person: MappedPerson,
  fields: readonly Field[],
  pictures: PictureStore,
  quarantined: Quarantined[],
): Promise<MappedPerson> {
  const { dn, uuid } = person;
  const digests: Record<string, Buffer | null> = {};
  for (const { name, attribute } of fields) {
    const bytes = person[name] as Buffer | null;
    const stored = bytes === null || bytes.length === 0 ? null : await pictures.put(bytes);
    digests[name] = stored !== null && 'sha256' in stored ? stored.sha256 : null;
    if (stored !== null && 'reason' in stored)
      quarantined.push({ kind: 'person', dn, uuid, id: null, attribute, reason: stored.reason });
  }
  return { ...person, ...digests };
}
