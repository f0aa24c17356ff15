import { type Field, type FieldDefinition, resolveFields } from '../common/field.js';
import type { DirectoryMapping } from '../config/settings/directory.js';

/**
 * Every mirrored field of a user. All else is derived from this table (CONTRIBUTING.md, "Adding a field").
 */
export const USER_FIELDS: FieldDefinition[] = [
  {
    name: 'id',
    type: 'ID!',
    description: 'The id in the directory, such as a login name.',
    attributes: 'DIRECTORY_USER_ID',
    reader: 'identity',
    column: 'id',
    isCarried: true,
    isSearchable: true,
  },
  {
    name: 'name',
    type: 'String!',
    description: 'The full name, as other people see it.',
    attributes: 'DIRECTORY_USER_NAME',
    reader: 'identity',
    column: 'name',
    isCarried: true,
    isSearchable: true,
    change: { label: 'full name', by: 'self', isRemovable: false },
  },
  {
    name: 'givenName',
    type: 'String',
    description: 'The given name. Null if the directory has none.',
    attributes: 'DIRECTORY_USER_GIVEN_NAME',
    reader: 'line',
    column: 'given_name',
    change: { label: 'given name', by: 'self', isRemovable: true },
  },
  {
    name: 'familyName',
    type: 'String',
    description: 'The family name. Null if the directory has none.',
    attributes: 'DIRECTORY_USER_FAMILY_NAME',
    reader: 'line',
    column: 'family_name',
    change: { label: 'family name', by: 'self', isRemovable: false },
  },
  {
    name: 'email',
    type: 'String',
    description: 'The e-mail address. Null if the directory has none.',
    attributes: 'DIRECTORY_USER_EMAIL',
    reader: 'line',
    column: 'email',
    change: { label: 'e-mail address', by: 'self', isRemovable: true, format: 'address' },
  },
  {
    name: 'schoolYear',
    type: 'String',
    description: 'The school year, such as 1A or 2B. Null for staff.',
    attributes: 'DIRECTORY_USER_SCHOOL_YEAR',
    reader: 'label',
    column: 'school_year',
    isCarried: true,
    filter: 'The school year, such as 1A.',
    change: { label: 'school year, such as 2B', by: 'administrator', isRemovable: true },
  },
  {
    name: 'photo',
    type: 'String',
    description:
      'A signed URL of the photo in the directory. Null if there is none. The URL needs no token, works in an `img` element ' +
      'and is valid for an hour. The photo is a JPEG, or an AVIF or WebP for clients that name them in Accept.',
    attributes: 'DIRECTORY_USER_PHOTO',
    reader: 'picture',
    column: 'photo',
    isCarried: true,
  },
  {
    name: 'picture',
    type: 'String',
    description:
      'A signed URL of the picture that the user chose. Null if there is none. It is used in the same way as ' +
      'the URL of `photo`.',
    attributes: 'DIRECTORY_USER_PICTURE',
    reader: 'picture',
    column: 'picture',
    isCarried: true,
  },
  {
    name: 'createdAt',
    type: 'DateTime!',
    description: 'When the entry was created in the directory.',
    attributes: 'DIRECTORY_CREATED_AT',
    reader: 'identity',
    column: 'created_at',
  },
  {
    name: 'updatedAt',
    type: 'DateTime!',
    description: 'When the service last took a change of the entry from the directory.',
    attributes: [],
    reader: 'none',
    column: 'updated_at',
  },
];

/** The fields of users, with the attributes that the settings name. */
export function userFields({ attributes }: Pick<DirectoryMapping['people'], 'attributes'>): readonly Field[] {
  return resolveFields(USER_FIELDS, attributes);
}
