import { type Field, type FieldDefinition, resolveFields } from '../common/field.js';
import type { DirectoryMapping } from '../config/settings/directory.js';

/** Every mirrored field of a group: see USER_FIELDS. Members, admins and owners are memberships, not fields. */
export const GROUP_FIELDS: FieldDefinition[] = [
  {
    name: 'id',
    type: 'ID!',
    description: 'The id in the directory.',
    attributes: 'DIRECTORY_GROUP_ID',
    reader: 'identity',
    column: 'id',
    isCarried: true,
    isSearchable: true,
  },
  {
    name: 'name',
    type: 'String!',
    description: 'The name, as people see it.',
    attributes: 'DIRECTORY_GROUP_NAME',
    reader: 'identity',
    column: 'name',
    isCarried: true,
    isSearchable: true,
    change: { label: 'name', by: 'owner', isRemovable: false },
  },
  {
    name: 'description',
    type: 'String',
    description: 'The description of the group.',
    attributes: 'DIRECTORY_GROUP_DESCRIPTION',
    reader: 'text',
    column: 'description',
    change: { label: 'description', by: 'owner', isRemovable: true },
  },
  {
    name: 'website',
    type: 'String',
    description:
      'The website of the group: an http or https URL without user information, spaces, quotes or markup.',
    attributes: 'DIRECTORY_GROUP_WEBSITE',
    reader: 'website',
    column: 'website',
    change: { label: 'website', by: 'owner', isRemovable: true },
  },
  {
    name: 'email',
    type: 'String',
    description: 'The e-mail address of the group.',
    attributes: 'DIRECTORY_GROUP_EMAIL',
    reader: 'line',
    column: 'email',
    change: { label: 'e-mail address', by: 'owner', isRemovable: true, format: 'address' },
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
    description: 'When the service last took a change of the entry or its members from the directory.',
    attributes: [],
    reader: 'none',
    column: 'updated_at',
  },
];

/** The fields of groups, with the attributes that the settings name. */
export function groupFields({
  attributes,
}: Pick<DirectoryMapping['groups'], 'attributes'>): readonly Field[] {
  return resolveFields(GROUP_FIELDS, attributes);
}
