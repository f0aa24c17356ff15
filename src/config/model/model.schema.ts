import { z } from 'zod';
import { type Match, MATCHES } from '../../common/match.js';
import {
  attributesOfFilter,
  compileFilter,
  InvalidFilterError,
  parseFilter,
} from '../../ldap/filter/filter.js';
import { InvalidDnError, normalizeDn, parseDn, tryNormalizeDn } from '../../ldap/naming/dn.js';
import { BUILT_IN_SCOPES, FOREIGN_SCOPES } from '../scopes.js';
import { isCredential } from './credentials.js';
import { PRESET_NAMES } from './presets/presets.js';

// A message follows the path of the value, and a colon.

const MOST_VALUES = 20;
/** RFC 4512 §1.4 and §2.5: a descriptor or a numeric OID, with options, such as `;lang-fr`, which belong to a name. */
const ATTRIBUTE = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/;
/** RFC 6749 §3.3, without spaces, and without commas, which separate scopes in commands. */
const SCOPE_TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;
/** Control characters, ends of lines, and characters that change the direction of the text that follows (UAX #9). */
const NOT_IN_A_LINE = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u;

const isEachOnce = (values: readonly string[]) => new Set(values).size === values.length;
const named = (form: RegExp, error: string) => z.string(error).max(256).regex(form, error);

/** A value, or a list of several. */
const oneOrMore = <Item extends z.ZodType>(item: Item, error: string, least = 1) =>
  z
    .union([item, z.array(item).min(least).max(MOST_VALUES)], `${error}, or a list of such`)
    .transform((values) => [values].flat() as z.output<Item>[]);

const AN_ATTRIBUTE = 'expected the name of an LDAP attribute';
export const attribute = named(ATTRIBUTE, AN_ATTRIBUTE).refine(
  (name) => !isCredential(name),
  'an attribute that holds credentials',
);
const attributes = oneOrMore(attribute, AN_ATTRIBUTE);
const attributesOrNone = oneOrMore(attribute, AN_ATTRIBUTE, 0);

const A_CLASS = 'expected the name of an object class';
const objectClass = named(ATTRIBUTE, A_CLASS);

/** A text that a function reads. What it throws for a wrong text is the message. */
const readable = (read: (text: string) => unknown) =>
  z
    .string()
    .max(10_000)
    .superRefine((text, context) => {
      try {
        read(text);
      } catch (error) {
        if (!(error instanceof InvalidFilterError || error instanceof InvalidDnError)) throw error;
        context.addIssue({ code: 'custom', message: error.message, continue: false });
      }
    });

/** A filter that the service evaluates. */
const filter = readable(compileFilter).refine(
  (text) => !attributesOfFilter(parseFilter(text)).some(isCredential),
  'reads an attribute that holds credentials',
);
/** A filter that a server evaluates, by rules that the service may not know. See findServerFilters for files. */
const searchFilter = readable(parseFilter);

export const baseDn = z
  .string()
  .trim()
  .refine((text) => tryNormalizeDn(text) !== null, 'must be a DN such as dc=example,dc=org');
const bases = oneOrMore(readable(parseDn), 'expected a DN relative to DIRECTORY_BASE_DN').refine(
  (dns) => isEachOnce(dns.map(normalizeDn)),
  'has the same DN twice',
);

const scopeName = named(
  SCOPE_TOKEN,
  'expected the name of a scope (RFC 6749, section 3.3), without spaces, commas, quotes and backslashes',
);
const TAKEN: readonly string[] = [...BUILT_IN_SCOPES.map(({ name }) => name), ...FOREIGN_SCOPES];
const ownScope = scopeName.refine(
  (name) => !TAKEN.includes(name) && !(name in Object.prototype),
  'a built-in scope, one of OpenID Connect, or a name of JavaScript',
);

const fieldName = z
  .string()
  .max(64)
  .regex(
    /^[A-Za-z][A-Za-z0-9_]*$/,
    'expected a name for a GraphQL field: a letter, and letters, digits and _',
  );

/** A text that the SDL shows, without escapes. */
const sentence = z
  .string()
  .trim()
  .min(1)
  .max(1000)
  .refine((text) => !NOT_IN_A_LINE.test(text), 'expected one line of text that can be shown');

/** Types of single values of custom fields. In `[…!]!` each is a list of all values. */
const VALUE_TYPES = ['String', 'Int', 'Float', 'Boolean', 'DateTime', 'URL', 'User', 'Group'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];
const FIELD_TYPES = [...VALUE_TYPES, ...VALUE_TYPES.map((type) => `[${type}!]!` as const)] as const;

const customFieldKeys = z.strictObject({
  attribute: attributes.describe('The attribute. Of a list, the first that has a value is used.'),
  type: z
    .enum(FIELD_TYPES, `expected ${VALUE_TYPES.join(', ')}, or a list such as "[String!]!" in quotes`)
    .describe('The GraphQL type. A list has all values, a single value is the first.'),
  description: sentence.describe('The description of the GraphQL field.'),
  access: scopeName.optional().describe('The scope that reads the field. Default: that of the object.'),
  visibleTo: z.enum(['everyone', 'groupAdmins', 'self']).optional().describe('Who sees the value.'),
  match: z.enum(MATCHES).optional().describe('How texts are compared. Default: as the attribute.'),
  filterable: z.boolean().optional().describe('Whether lists can be filtered by the field.'),
  searchable: z.boolean().optional().describe('Whether search finds objects by the field.'),
  editable: z.boolean().optional().describe('Whether previews can change the field.'),
  personal: z.boolean().optional().describe('Whether the access log counts the field. Default: true.'),
  deprecated: sentence.optional().describe('Why clients must stop using the field, such as: Use mobiles.'),
  reverse: fieldName.optional().describe('For User and Group: the name of the connection of the other side.'),
});

/** A custom field as a file has it. */
export type CustomField = z.input<typeof customFieldKeys>;
/** A custom field, with its attributes as a list. */
export type OwnField = z.output<typeof customFieldKeys>;

export function isCustom(field: readonly string[] | OwnField): field is OwnField {
  return !Array.isArray(field);
}

/** The type of one value, without the marks of a list. */
export function valueTypeOf({ type }: Pick<CustomField, 'type'>): ValueType {
  return type.replace(/^\[(\w+)!\]!$/, '$1') as ValueType;
}

export function isReference(field: Pick<CustomField, 'type'>): boolean {
  return ['User', 'Group'].includes(valueTypeOf(field));
}

/** The types that have a filter, and that previews change. */
const SINGLE: readonly string[] = ['String', 'Int', 'Float', 'Boolean', 'DateTime', 'URL'];
const SEARCHABLE: readonly string[] = ['String', '[String!]!'];
/** How the values of a type can be compared. Values of all other types have one way. */
const COMPARED: Readonly<Partial<Record<ValueType, readonly Match[]>>> = {
  String: MATCHES,
  URL: ['caseIgnore', 'caseExact'],
  Int: ['integer'],
};

/** The keys that do not go with the type of a field, or with each other. */
function clashesOf(field: OwnField): (readonly [isBroken: boolean, key: string, message: string])[] {
  const { type, access, visibleTo = 'everyone', match, filterable, searchable, editable, reverse } = field;
  const isMultiple = !SINGLE.includes(type);
  const isHidden = visibleTo !== 'everyone';
  const isCompared = match === undefined || COMPARED[valueTypeOf(field)]?.includes(match) === true;
  const wrongType = `not possible with the type ${type}`;
  const revealed = 'would reveal the values of a field with access or visibleTo';
  return [
    [filterable === true && isMultiple, 'filterable', wrongType],
    [!isCompared, 'match', wrongType],
    [searchable === true && !SEARCHABLE.includes(type), 'searchable', wrongType],
    [searchable === true && (access !== undefined || isHidden), 'searchable', revealed],
    [editable === true && isMultiple, 'editable', wrongType],
    [editable === true && isHidden, 'editable', 'would show the old value to those whom visibleTo excludes'],
    [reverse !== undefined && !isReference(field), 'reverse', wrongType],
  ];
}

const customField = customFieldKeys
  .superRefine((field, context) => {
    for (const [isBroken, key, message] of clashesOf(field))
      if (isBroken) context.addIssue({ code: 'custom', path: [key], message });
  })
  .describe('A custom field.');

const fields = z
  .record(
    fieldName,
    z.union(
      [attributes, customField],
      'expected the attribute of a built-in field, or {attribute, type, description}',
    ),
  )
  .describe('The attributes of built-in fields where they differ from the preset, and custom fields.');

/** How the values of an attribute of a group name its members: by DN, by id of a user, or by entryUUID. */
export const NAMED_BY = ['dn', 'id', 'uuid'] as const;
export type NamedBy = (typeof NAMED_BY)[number];

/** The attributes of a group that name the entries of a role, in one or several forms. All of them count. Empty: there are none. */
export type RoleMapping = readonly MemberForm[];

/** Attributes whose values name entries in the same way. With several attributes, all of them count. */
export interface MemberForm {
  readonly attributes: readonly string[];
  /** No other form of the role has the same. */
  readonly by: NamedBy;
  /** Whether the attribute has at most one value. */
  readonly isSingle?: boolean;
}

const form = z.strictObject({
  attribute: attributesOrNone.describe('The attributes that name members, which all count.'),
  by: z.enum(NAMED_BY).default('dn').describe('What the values are: DNs, ids of users, or entryUUIDs.'),
});

const keysOf = (names: readonly string[]) => new Set(names.map((name) => name.toLowerCase()));

/** With several forms of one kind, a change would not know which of them to write. */
const role = z
  .union([form, z.array(form).min(1)], 'expected {attribute: member, by: dn}, or a list of such maps')
  .transform((written) => [written].flat().map(({ attribute: attributes, by }) => ({ attributes, by })))
  .refine(
    (forms) => isEachOnce(forms.flatMap(({ attributes: names, by }) => [`by ${by}`, ...keysOf(names)])),
    'has two forms with the same by, or with the same attribute',
  )
  .describe('Where members are read from: one form, or several with different `by`, which all count.');

const entries = {
  base: bases.optional().describe('DNs relative to DIRECTORY_BASE_DN. Empty: DIRECTORY_BASE_DN itself.'),
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
        to: z.enum(names).describe('Who sees them.'),
      }),
    )
    .max(100)
    .optional()
    .describe(`${what} The first rule that matches decides.`);

/** The model file. This is the only declaration: validation and the published JSON Schema are derived from it. */
export const MODEL = z
  .strictObject({
    server: z.enum(PRESET_NAMES).optional().describe('The kind of server. Default: it is recognized.'),
    follow: z
      .enum(['push', 'poll'])
      .optional()
      .describe('How changes are found. Default: as its kind permits.'),
    uuid: attribute.optional().describe('The attribute with the permanent id of an entry.'),
    createdAt: attribute.optional().describe('The attribute with the creation time of an entry.'),
    modifiedAt: attribute.optional().describe('The attribute with the modification time of an entry.'),
    users: z
      .strictObject({
        ...entries,
        disabled: filter.optional().describe('Matches the users whose User.active is false (RFC 4515).'),
        memberOf: attributesOrNone.optional().describe('Attributes of users that name their groups.'),
        photoStamp: attributes.optional().describe('Attributes of users that change with their photo.'),
      })
      .optional()
      .describe('Where users are, and what is read of them.'),
    groups: z
      .strictObject({
        ...entries,
        members: role.optional(),
        admins: role.optional(),
        owners: role.optional(),
        classes: oneOrMore(objectClass, A_CLASS)
          .optional()
          .describe('The object classes of a new group in previews.'),
      })
      .optional()
      .describe('Where groups are, and what is read of them.'),
    scopes: z.record(ownScope, sentence).optional().describe('Your own scopes with their descriptions.'),
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
