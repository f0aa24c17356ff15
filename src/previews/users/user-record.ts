import type { DirectoryMapping } from '../../config/settings/directory.js';
import { DIRECTORY_PERSON } from '../auxiliary-class.js';
import type { ChangedEntry, StoredPerson } from '../stored-entry.js';
import { changeTexts, type TextChange } from '../text-record.js';
import type { PersonChange } from '../validate.js';

/**
 * Changes a person (pure).
 * @throws ServiceError as changeTexts does
 */
export function changePerson(
  person: StoredPerson,
  change: PersonChange,
  mapping: DirectoryMapping['people'],
): ChangedEntry {
  const text = (argument: keyof PersonChange, attribute: string): TextChange => ({
    argument,
    attribute,
    shown: person[argument],
    wanted: change[argument],
  });
  return changeTexts(person, DIRECTORY_PERSON, [
    text('name', mapping.name[0] ?? ''),
    text('givenName', mapping.givenName),
    text('familyName', mapping.familyName),
    text('email', mapping.email),
    text('schoolYear', mapping.schoolYear),
  ]);
}
