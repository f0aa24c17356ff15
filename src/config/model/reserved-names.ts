/**
 * Names that fields and reverse connections of a model cannot have, because the built-in schema has a field of this name in
 * an object type, in a filter or in the input of a preview (test/project/model.spec.ts compares them with the schema).
 */
export const SCHEMA_NAMES = {
  users: [
    'active',
    'clientMutationId',
    'createdAt',
    'email',
    'emails',
    'familyName',
    'givenName',
    'groups',
    'id',
    'ids',
    'inGroup',
    'memberOf',
    'name',
    'nodeId',
    'origin',
    'photo',
    'picture',
    'role',
    'schoolYear',
    'schoolYears',
    'search',
    'updatedAt',
    'updatedSince',
    'user',
  ],
  groups: [
    'clientMutationId',
    'createdAt',
    'description',
    'email',
    'group',
    'hasMember',
    'id',
    'members',
    'name',
    'nodeId',
    'parent',
    'parents',
    'role',
    'search',
    'subgroups',
    'updatedAt',
    'website',
    'withMember',
  ],
} as const satisfies Record<'users' | 'groups', readonly string[]>;

/** Names of properties that the code or JavaScript gives objects. */
export const INTERNAL_NAMES: readonly string[] = [
  'constructor',
  'dn',
  'dnKey',
  'entryUuid',
  'hasOwnProperty',
  'isActive',
  'isPrototypeOf',
  'key',
  'membershipsAhead',
  'membersVisibleTo',
  'nodeType',
  'photoLevel',
  'pictureLevel',
  'prototype',
  'propertyIsEnumerable',
  'references',
  'sourceValues',
  'then',
  'toJSON',
  'toLocaleString',
  'toString',
  'uuid',
  'valueOf',
  'visibleTo',
];

/** Whether a field or a reverse connection of users or groups cannot have a name. */
export function isReserved(kind: 'users' | 'groups', name: string): boolean {
  return (SCHEMA_NAMES[kind] as readonly string[]).includes(name) || INTERNAL_NAMES.includes(name);
}
