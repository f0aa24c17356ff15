import type { DirectoryMapping } from '../../config/model/mapping.js';
import { DIRECTORY_PERSON } from '../auxiliary-class.js';
import type { ChangedEntry, OriginalEntry } from '../stored-entry.js';
import { changeTexts, textChangesOf } from '../text-record.js';
import type { FieldChanges } from '../validate.js';

/**
 * Builds the record that changes a user (pure).
 * @throws ServiceError as changeTexts does
 */
export function changePerson(
  person: OriginalEntry,
  change: FieldChanges,
  mapping: DirectoryMapping['users'],
): ChangedEntry {
  return changeTexts(person, DIRECTORY_PERSON, textChangesOf(mapping.fields, person, change));
}
