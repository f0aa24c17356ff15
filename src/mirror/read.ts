import type { DirectoryMapping } from '../config/config.js';
import type { LdifSource } from './ldif-source.js';
import { mapGroup, type MappedPerson, mapPerson } from './map.js';
import type { PictureStore } from './picture-store.js';
import { relate } from './relate.js';
import type { MappedGroup, Person, Quarantined, Snapshot } from './snapshot.js';

/**
 * Reads a source to its end: anything but success on the way ends the run, and nothing has been changed.
 * @throws LdifError or SourceError; the signal's reason when it is told to stop
 */
export async function readSnapshot(
  source: LdifSource,
  mapping: DirectoryMapping,
  pictures: PictureStore,
  signal: AbortSignal,
): Promise<Snapshot> {
  const people: Person[] = [];
  const groups: MappedGroup[] = [];
  const quarantined: Quarantined[] = [];
  for await (const { kind, entry } of source.read()) {
    signal.throwIfAborted();
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
  return relate(people, groups, quarantined);
}

/** A picture that cannot be shown is left out, and the person stays. */
async function withPictures(
  person: MappedPerson,
  mapping: DirectoryMapping['people'],
  pictures: PictureStore,
  quarantined: Quarantined[],
): Promise<Person> {
  const put = async (bytes: Buffer | null, attribute: string) => {
    if (bytes === null || bytes.length === 0) return null;
    const stored = await pictures.put(bytes);
    if ('sha256' in stored) return stored.sha256;
    quarantined.push({ dn: person.dn, attribute, reason: stored.reason });
    return null;
  };
  return {
    ...person,
    photo: await put(person.photo, mapping.photo),
    picture: await put(person.picture, mapping.picture),
  };
}
