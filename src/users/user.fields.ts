import type { FieldDefinition } from '../common/field.js';

/** A field of users and of groups. */
export const CREATED_AT: FieldDefinition = {
  name: 'createdAt',
  type: 'DateTime!',
  description: 'When the entry was created in the directory.',
  attributes: ['createTimestamp'],
  reader: 'identity',
  column: 'created_at',
};

/**
 * Every mirrored field of a user. All else is derived from this table (CONTRIBUTING.md, "A field").
 */
export const USER_FIELDS: FieldDefinition[] = [
  {
    name: 'id',
    type: 'ID!',
    description: 'The id in the directory, such as a login name.',
    attributes: ['uid'],
    reader: 'identity',
    column: 'id',
    isCarried: true,
    isSearchable: true,
  },
  {
    name: 'name',
    type: 'String!',
    description: 'The full name, as other people see it.',
    attributes: ['displayName', 'cn'],
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
    attributes: ['givenName'],
    reader: 'line',
    column: 'given_name',
    isSearchable: true,
    change: { label: 'given name', by: 'self', isRemovable: true },
  },
  {
    name: 'familyName',
    type: 'String',
    description: 'The family name. Null if the directory has none.',
    attributes: ['sn'],
    reader: 'line',
    column: 'family_name',
    isSearchable: true,
    change: { label: 'family name', by: 'self', isRemovable: false },
  },
  {
    name: 'email',
    type: 'String',
    description: 'The e-mail address. Null if the directory has none.',
    attributes: ['mail'],
    reader: 'line',
    column: 'email',
    change: { label: 'e-mail address', by: 'self', isRemovable: true, format: 'address' },
  },
  {
    name: 'schoolYear',
    type: 'String',
    description: 'The school year, such as 1A or 2B. Null for staff.',
    attributes: ['schoolYear'],
    reader: 'label',
    column: 'school_year',
    isCarried: true,
    filter: 'The school year, such as 1A. Case and repeated spaces are ignored.',
    change: { label: 'school year, such as 2B', by: 'administrator', isRemovable: true },
  },
  {
    name: 'photo',
    type: 'String',
    description:
      'A signed URL of the photo in the directory. Null if there is none. The URL needs no token, works in an `img` element ' +
      'and is valid for an hour. The photo is a JPEG, or an AVIF or WebP for clients that name them in Accept.',
    attributes: ['jpegPhoto'],
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
    attributes: ['profilePicture'],
    reader: 'picture',
    column: 'picture',
    isCarried: true,
  },
  {
    name: 'active',
    type: 'Boolean!',
    description:
      'Whether the account is active. False if the directory has disabled or locked the account, by the filter that the operators configure.',
    attributes: [],
    reader: 'activity',
    column: 'is_active',
  },
  CREATED_AT,
  {
    name: 'updatedAt',
    type: 'DateTime!',
    description: 'When the service last took a change of the entry from the directory.',
    attributes: [],
    reader: 'none',
    column: 'updated_at',
  },
];
