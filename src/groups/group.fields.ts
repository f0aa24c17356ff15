import type { FieldDefinition } from '../common/field.js';
import { CREATED_AT } from '../users/user.fields.js';

/** Every mirrored field of a group: see USER_FIELDS. Members, admins and owners are memberships, not fields. */
export const GROUP_FIELDS: FieldDefinition[] = [
  {
    name: 'id',
    type: 'ID!',
    description: 'The id in the directory.',
    attributes: ['cn'],
    reader: 'identity',
    column: 'id',
    isCarried: true,
    isSearchable: true,
  },
  {
    name: 'name',
    type: 'String!',
    description: 'The name, as people see it.',
    attributes: ['displayName', 'cn'],
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
    attributes: ['description'],
    reader: 'text',
    column: 'description',
    change: { label: 'description', by: 'owner', isRemovable: true },
  },
  {
    name: 'website',
    type: 'String',
    description:
      'The website of the group: an http or https URL without user information, spaces, quotes or markup.',
    attributes: ['labeledURI'],
    reader: 'website',
    column: 'website',
    change: { label: 'website', by: 'owner', isRemovable: true },
  },
  {
    name: 'email',
    type: 'String',
    description: 'The e-mail address of the group.',
    attributes: ['mail'],
    reader: 'line',
    column: 'email',
    change: { label: 'e-mail address', by: 'owner', isRemovable: true, format: 'address' },
  },
  CREATED_AT,
  {
    name: 'updatedAt',
    type: 'DateTime!',
    description: 'When the service last took a change of the entry or its members from the directory.',
    attributes: [],
    reader: 'none',
    column: 'updated_at',
  },
];
