import { type Field, pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import { groupFields } from '../../groups/group.fields.js';
import type { Entry } from '../../ldap/entry.js';
import { userFields } from '../../users/user.fields.js';
import { mapGroup, mapPerson } from './map.js';
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
  const fields = { person: userFields(mapping.people), group: groupFields(mapping.groups) };
  const pictureFieldsOfPeople = pictureFields(fields.person);
  let count = 0;
  for await (const { kind, entry } of entries) {
    signal.throwIfAborted();
    if (++count % PROGRESS_INTERVAL === 0) progress({ stage: 'read', entries: count });
    if (kind === 'person') {
      const mapped = mapPerson(entry, mapping.people, fields.person);
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null)
        people.push(await withPictures(mapped.value, pictureFieldsOfPeople, pictures, quarantined));
    } else {
      const mapped = mapGroup(entry, mapping.groups, fields.group);
      quarantined.push(...mapped.quarantined);
      if (mapped.value !== null) groups.push(mapped.value);
    }
  }
  await pictures.flush();
  return gather(people, groups, quarantined);
}

/** A picture that cannot be shown is left out, and the person stays. */
async function withPictures(
  person: Person,
  fields: readonly Field[],
  pictures: PictureStore,
  quarantined: Quarantined[],
): Promise<Person> {
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
