import { type Field, pictureFields } from '../../common/field.js';
import { inSteps } from '../../common/steps.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { mapGroupInSteps, mapPerson } from '../map/map.js';
import type { PictureStore } from '../apply/picture-store.js';
import { gather } from '../map/relate.js';
import type { MappedGroup, MappedPerson, Quarantined, Snapshot } from '../map/snapshot.js';
import type { EntryKind } from '../../sources/source.js';

/** The progress of a run: the number of entries read so far, or the start of a later stage. */
export type ProgressStep =
  | { readonly stage: 'read'; readonly entries: number }
  | { readonly stage: 'plan' }
  | { readonly stage: 'apply' };

export type Progress = (step: ProgressStep) => void;

const PROGRESS_INTERVAL = 1000;

type Entries = AsyncIterable<{ kind: EntryKind; entry: Entry }> | Iterable<{ kind: EntryKind; entry: Entry }>;

/** Takes the entries of a source as they are read. */
export interface EntryReceiver {
  addPerson(person: MappedPerson): Promise<void> | void;
  addGroup(group: MappedGroup): Promise<void> | void;
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
export async function readEntries(
  entries: Entries,
  receiver: EntryReceiver,
  { mapping, pictures, signal, progress }: ReadOptions,
): Promise<void> {
  const { quarantined } = receiver;
  const pictureFieldsOfPeople = pictureFields(mapping.users.fields);
  let count = 0;
  for await (const { kind, entry } of entries) {
    signal.throwIfAborted();
    if (++count % PROGRESS_INTERVAL === 0) progress?.({ stage: 'read', entries: count });
    if (kind === 'person') {
      const mapped = mapPerson(entry, mapping.users);
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null)
        await receiver.addPerson(
          await withPictures(mapped.value, pictureFieldsOfPeople, pictures, quarantined),
        );
    } else {
      const mapped = await inSteps(mapGroupInSteps(entry, mapping.groups));
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null) await receiver.addGroup(mapped.value);
    }
  }
  await pictures.flush();
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
