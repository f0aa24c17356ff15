import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Entry } from '../../ldap/entry.js';
import { mapGroup, type MappedPerson, mapPerson } from './map.js';
import type { PictureStore } from '../apply/picture-store.js';
import { gather } from './relate.js';
import type { Group, Person, Quarantined, Snapshot } from './snapshot.js';
import type { EntryKind } from '../../sources/source.js';

/** How far a run has come: so many entries have been read, or what comes after that has begun. */
export type Step =
  | { readonly stage: 'read'; readonly entries: number }
  | { readonly stage: 'plan' }
  | { readonly stage: 'apply' };

/** Is told now and then how far a run has come. */
export type Progress = (step: Step) => void;

/** Entries between two reports of progress. */
const PROGRESS_INTERVAL = 1000;

/**
 * Reads entries to their end: anything but success on the way ends the run, and nothing has been changed.
 * @throws what the entries throw; the signal's reason when it is told to stop
 */
export async function readSnapshot(
  entries: AsyncIterable<{ kind: EntryKind; entry: Entry }> | Iterable<{ kind: EntryKind; entry: Entry }>,
  mapping: DirectoryMapping,
  pictures: PictureStore,
  signal: AbortSignal,
  progress: Progress = () => undefined,
): Promise<Snapshot> {
  const people: Person[] = [];
  const groups: Group[] = [];
  const quarantined: Quarantined[] = [];
  let count = 0;
  for await (const { kind, entry } of entries) {
    signal.throwIfAborted();
    if (++count % PROGRESS_INTERVAL === 0) progress({ stage: 'read', entries: count });
    if (kind === 'person') {
      const mapped = mapPerson(entry, mapping.people);
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null)
        people.push(await withPictures(mapped.value, mapping.people, pictures, quarantined));
    } else {
      const mapped = mapGroup(entry, mapping.groups);
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null) groups.push(mapped.value);
    }
  }
  await pictures.flush();
  return gather(people, groups, quarantined);
}

/** A picture that cannot be shown is left out, and the person stays. */
async function withPictures(
  person: MappedPerson,
  mapping: DirectoryMapping['people'],
  pictures: PictureStore,
  quarantined: Quarantined[],
): Promise<Person> {
  const { dn, uuid } = person;
  const put = async (bytes: Buffer | null, attribute: string) => {
    if (bytes === null || bytes.length === 0) return null;
    const stored = await pictures.put(bytes);
    if ('sha256' in stored) return stored.sha256;
    quarantined.push({ kind: 'person', dn, uuid, id: null, attribute, reason: stored.reason });
    return null;
  };
  return {
    ...person,
    photo: await put(person.photo, mapping.photo),
    picture: await put(person.picture, mapping.picture),
  };
}
