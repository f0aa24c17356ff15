import { z } from 'zod';
import {
  attribute,
  attributes,
  attributesOrNone,
  bases,
  fieldName,
  filter,
  flag,
  objectClasses,
  oneOf,
  scopeName,
  searchFilter,
  sentence,
} from './model-values.js';
import { MATCHES } from '../../common/match.js';
import { NAMED_BY } from './mapping.js';
import { PRESET_NAMES } from './presets/presets.js';

/** How a server may be followed: `push`, by its messages (RFC 4533), where it offers them; `poll`, by requests only. */
const FOLLOW_SETTINGS = ['push', 'poll'] as const;
export type FollowSetting = (typeof FOLLOW_SETTINGS)[number];

/** Types of single values of custom fields. In `[…!]!` each is a list of all values. */
const VALUE_TYPES = ['String', 'Int', 'Float', 'Boolean', 'DateTime', 'URL', 'User', 'Group'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];
type FieldType = ValueType | `[${ValueType}!]!`;

const FIELD_TYPES = [...VALUE_TYPES, ...VALUE_TYPES.map((type) => `[${type}!]!` as const)] as [
  FieldType,
  ...FieldType[],
];

const customField = z
  .strictObject({
    attribute: attributes.describe(
      'The LDAP attribute, or a list of which the first that has a value is used.',
    ),
    type: z
      .enum(FIELD_TYPES, {
        error: `is not a type of fields. Write one of ${VALUE_TYPES.join(', ')}, or a list such as "[String!]!" in quotes`,
      })
      .describe('The GraphQL type. A list has all values, a single value is the first.'),
    description: sentence.describe('The description of the GraphQL field.'),
    access: scopeName
      .optional()
      .describe('The scope that reads the field. Default: that of the object. References need `read`, too.'),
    visibleTo: oneOf(['everyone', 'groupAdmins', 'self'])
      .optional()
      .describe('Who sees the value besides principals with the scope visibility.bypass. Default: everyone.'),
    match: oneOf(MATCHES)
      .optional()
      .describe(
        'How texts are compared, as the directory compares them: caseIgnore, caseExact, phone or integer. Default: as the attribute, if it is a standard one; otherwise caseIgnore, and caseExact for URL.',
      ),
    filterable: flag.optional().describe('Whether lists can be filtered by the field.'),
    searchable: flag.optional().describe('Whether search finds objects by the field.'),
    editable: flag.optional().describe('Whether previews can change the field.'),
    personal: flag
      .optional()
      .describe('For fields of users: whether the access log counts the field. Default: true.'),
    deprecated: sentence.optional().describe('Why clients must stop using the field, such as: Use mobiles.'),
    reverse: fieldName
      .optional()
      .describe('For User and Group: the name of the connection of the other side.'),
  })
  .describe('A custom field.');

export type CustomField = z.output<typeof customField>;

const field = z.union([attributes, customField], {
  error:
    'is neither an attribute nor a field. Write the attribute of a built-in field, or {attribute, type, description}',
});

const fields = z
  .record(fieldName, field)
  .describe(
    'The attributes of built-in fields where they differ from the preset, and custom fields, by name.',
  );

const form = z.strictObject({
  attribute: attributesOrNone.describe(
    'The attributes that name members. With several, all of them count. An empty list: none.',
  ),
  by: oneOf(NAMED_BY)
    .optional()
    .describe('What the values are: DNs, ids of users (such as memberUid), or entryUUIDs. Default: dn.'),
});

const role = z
  .union([form, z.array(form).min(1).max(NAMED_BY.length)], {
    error:
      'is neither a map nor a list of maps. Write {attribute: member, by: dn}, or a list of such maps with different by',
  })
  .describe(
    'Where members are read from: one form, or a list of forms with different `by`, which all count.',
  );

export type WrittenRole = z.output<typeof role>;

const entries = {
  base: bases
    .optional()
    .describe('One or several DNs, relative to DIRECTORY_BASE_DN. Empty: DIRECTORY_BASE_DN itself.'),
  filter: searchFilter.optional().describe('Selects the entries (RFC 4515).'),
  id: attribute.optional().describe('The attribute of the id.'),
  name: attributes.optional().describe('The attributes of the name. The first that has a value is used.'),
  fields: fields.optional(),
};

const rulesTo = <const Names extends readonly [string, ...string[]]>(names: Names, what: string) =>
  z
    .array(
      z.strictObject({
        where: filter.describe('Matches the entries that are hidden (RFC 4515).'),
        to: oneOf(names).describe('Who sees them.'),
      }),
      { error: 'is not a list of rules. Write a list such as [{where: (employeeType=hidden), to: self}]' },
    )
    .max(100)
    .optional()
    .describe(`${what} The first rule that matches decides.`);

/** The model file. This is the only declaration: validation and the published JSON Schema are derived from it. */
export const MODEL = z
  .strictObject({
    server: oneOf(PRESET_NAMES)
      .optional()
      .describe(
        'The kind of server, which has a preset of attribute names and filters. Default: it is recognized.',
      ),
    follow: oneOf(FOLLOW_SETTINGS)
      .optional()
      .describe(
        'How changes of a server are found: by its messages (RFC 4533), or by requests. Default: the best that its kind permits.',
      ),
    uuid: attribute.optional().describe('The attribute with the permanent id of an entry.'),
    createdAt: attribute.optional().describe('The attribute with the creation time of an entry.'),
    modifiedAt: attribute.optional().describe('The attribute with the modification time of an entry.'),
    users: z
      .strictObject({
        ...entries,
        disabled: filter.optional().describe('Matches the users whose User.active is false (RFC 4515).'),
        memberOf: attributesOrNone
          .optional()
          .describe(
            'Attributes of users that name their groups: memberOf, where the members of groups cannot be read, or primaryGroupID.',
          ),
        photoStamp: attributes
          .optional()
          .describe(
            'Attributes of users that change with their photo, such as its size or hash: a server without times of changes is asked for a photo only when an attribute differs.',
          ),
      })
      .optional()
      .describe('Where users are, and what is read of them.'),
    groups: z
      .strictObject({
        ...entries,
        members: role.optional(),
        admins: role.optional(),
        owners: role.optional(),
        classes: objectClasses.optional().describe('The object classes of a new group in previews.'),
      })
      .optional()
      .describe('Where groups are, and what is read of them.'),
    scopes: z.record(scopeName, sentence).optional().describe('Scopes of your own with their descriptions.'),
    visibility: z
      .strictObject({
        bypass: scopeName.optional().describe('The scope of tokens that see everything: one under `scopes`.'),
        users: rulesTo(['groupAdmins', 'self'], 'Users that are hidden.'),
        groups: rulesTo(['members', 'admins'], 'Groups that are hidden.'),
        members: rulesTo(['members', 'admins'], 'Groups whose members are hidden.'),
      })
      .optional()
      .describe('Who sees whom.'),
  })
  .describe('The model of a directory: what is read of its entries, and who sees it.');

export type Model = z.output<typeof MODEL>;

/** The JSON Schema of the file, for editors. */
export function modelJsonSchema(): unknown {
  return { title: 'Directory model', ...z.toJSONSchema(MODEL, { io: 'input' }) };
}
