import { z } from 'zod';
import { type Match, MATCHES } from '../../common/match.js';
import {
  attributesOfFilter,
  compileFilter,
  InvalidFilterError,
  parseFilter,
} from '../../ldap/filter/filter.js';
import { InvalidDnError, normalizeDn, parseDn } from '../../ldap/naming/dn.js';
import { BUILT_IN_SCOPES, FOREIGN_SCOPES } from '../scopes.js';
import { isCredential } from './credentials.js';
import { NAMED_BY } from './mapping.js';
import { PRESET_NAMES } from './presets/presets.js';
import { listOf, mapOf, quote, recordOf } from './yaml-file.js';

// A message is the end of a sentence whose subject is the key or the value, and the cure.

const MOST_VALUES = 20;
/** RFC 4512 §1.4: a descriptor or a numeric OID. */
const DESCRIPTOR_OR_OID = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)$/;
/** The same with options, such as `;lang-fr`, which belong to the name of an attribute (RFC 4512 §2.5). */
const ATTRIBUTE = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/;
/** RFC 6749 §3.3, without spaces, and without commas, which separate scopes in commands. */
const SCOPE_TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;
/** Control characters, ends of lines, and characters that change the direction of the text that follows (UAX #9). */
const NOT_IN_A_LINE = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u;

const named = (form: RegExp, error: string) =>
  z.string({ error }).max(256, { error: 'is too long. Write at most 256 characters' }).regex(form, { error });

export const attribute = named(
  ATTRIBUTE,
  'is not the name of an LDAP attribute. Write a name such as telephoneNumber',
).refine((name) => !isCredential(name), {
  error: 'is an attribute that holds credentials. Name another one',
});
const NEITHER =
  'is neither the name of an LDAP attribute nor a list of names. Write a name, or a list such as [displayName, cn]';
const attributes = z.union([attribute, listOf(attribute, MOST_VALUES)], { error: NEITHER });
const attributesOrNone = z.union([attribute, listOf(attribute, MOST_VALUES, 0)], { error: NEITHER });

const objectClass = named(
  DESCRIPTOR_OR_OID,
  'is not the name of an object class. Write a name such as groupOfNames',
);
const objectClasses = z.union([objectClass, listOf(objectClass, MOST_VALUES)], {
  error:
    'is neither the name of an object class nor a list of names. Write a name, or a list such as [groupOfNames, schoolGroup]',
});

const A_FILTER = 'Write a filter such as (objectClass=person), RFC 4515';
const filterBy = (read: (text: string) => unknown) =>
  z
    .string({ error: `is not a filter. ${A_FILTER}` })
    .max(10_000, { error: 'is too long. Write at most 10,000 characters' })
    .superRefine(explaining(InvalidFilterError, read, A_FILTER));

/** A filter that the service evaluates. */
const filter = filterBy(compileFilter).refine((text) => !readsCredential(text), {
  error: 'reads an attribute that holds credentials. Write another filter',
});
/** A filter that a server evaluates, by rules that the service may not know. See findServerFilters for files. */
const searchFilter = filterBy(parseFilter);

const A_DN = 'Write a DN such as ou=people, relative to DIRECTORY_BASE_DN';
export const baseDn = z
  .string()
  .trim()
  .superRefine(explaining(InvalidDnError, parseDn, 'Write a DN such as dc=example,dc=org'));
const dn = z.string({ error: `is not a DN. ${A_DN}` }).superRefine(explaining(InvalidDnError, parseDn, A_DN));
const differentDns = listOf(dn, MOST_VALUES).superRefine((bases, context) => {
  const known = bases.map(normalizeDn);
  for (const [index, base] of known.entries())
    if (known.indexOf(base) < index)
      context.addIssue({
        code: 'custom',
        path: [index],
        message: 'is the same DN as a base before it. Keep one of them',
      });
});
const bases = z.union([dn, differentDns], {
  error:
    'is neither a DN nor a list of DNs. Write a DN such as ou=people, or a list such as [ou=people, ou=staff]',
});

const scopeName = named(
  SCOPE_TOKEN,
  'is not the name of a scope (RFC 6749, section 3.3). Use letters, digits and punctuation, without spaces, commas, quotes and backslashes',
);
const ownScope = scopeName
  .refine((name) => !BUILT_IN_SCOPES.some((scope) => scope.name === name), {
    error: 'is a built-in scope. Choose another name',
  })
  .refine((name) => !FOREIGN_SCOPES.includes(name), {
    error: 'is a scope of OpenID Connect. Choose another name',
  })
  .refine((name) => !(name in Object.prototype), {
    error: 'is a name of JavaScript objects. Choose another name',
  });

const fieldName = z
  .string()
  .max(64, { error: 'is too long for the name of a field. Write at most 64 characters' })
  .regex(/^[A-Za-z][A-Za-z0-9_]*$/, {
    error: 'is not a name for a GraphQL field. Begin with a letter, and use letters, digits and _',
  });

/** A text that the SDL shows, without escapes. */
const sentence = z
  .string({ error: 'is missing or no text. Write a sentence for the readers of the schema' })
  .trim()
  .min(1, { error: 'is empty. Write a sentence for the readers of the schema' })
  .max(1000, { error: 'is too long. Write at most 1,000 characters' })
  .refine((text) => !NOT_IN_A_LINE.test(text), {
    error:
      'has a line break, a tab, or a character that is not shown or changes the direction of text (such as U+202E). Write one line without them',
  });

const flag = z.boolean({ error: 'is neither true nor false. Write true or false' });

const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, { error: `is not one of the possible values. Write ${names.join(', ')}` });

/** Adds the message of an expected error as a problem. */
function explaining(
  expected: abstract new (...given: never[]) => Error,
  read: (text: string) => unknown,
  cure: string,
) {
  return (text: string, context: z.RefinementCtx<string>) => {
    try {
      read(text);
    } catch (error) {
      if (!(error instanceof expected)) throw error;
      context.addIssue(`is an ${error.message}. ${cure}`);
    }
  };
}

function readsCredential(text: string): boolean {
  try {
    return attributesOfFilter(parseFilter(text)).some(isCredential);
  } catch {
    return false; // A problem of its own.
  }
}

/** How a server may be followed: `push`, by its messages (RFC 4533), where it offers them; `poll`, by requests only. */
const FOLLOW_SETTINGS = ['push', 'poll'] as const;
export type FollowSetting = (typeof FOLLOW_SETTINGS)[number];

/** Types of single values of custom fields. In `[…!]!` each is a list of all values. */
const VALUE_TYPES = ['String', 'Int', 'Float', 'Boolean', 'DateTime', 'URL', 'User', 'Group'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];
const FIELD_TYPES = [...VALUE_TYPES, ...VALUE_TYPES.map((type) => `[${type}!]!` as const)] as const;

const customFieldKeys = mapOf({
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
  reverse: fieldName.optional().describe('For User and Group: the name of the connection of the other side.'),
});

export type CustomField = z.output<typeof customFieldKeys>;

export function isCustom(field: string | readonly string[] | CustomField): field is CustomField {
  return typeof field === 'object' && !Array.isArray(field);
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
function clashesOf(field: CustomField): (readonly [isBroken: boolean, key: string, message: string])[] {
  const { type, access, visibleTo = 'everyone', match, filterable, searchable, editable, reverse } = field;
  const isMultiple = !SINGLE.includes(type);
  const isHidden = visibleTo !== 'everyone';
  const withType = (clash: string, cure = 'or use another type') =>
    `does not go with ${type}${clash}. Remove it, ${cure}`;
  const instead = access === undefined ? ', or protect the field with access instead of visibleTo' : '';
  return [
    [filterable === true && isMultiple, 'filterable', withType(`: only ${SINGLE.join(', ')} have a filter`)],
    [
      match !== undefined && COMPARED[valueTypeOf(field)]?.includes(match) !== true,
      'match',
      withType(`, whose values are not compared by ${String(match)}`),
    ],
    [
      searchable === true && !SEARCHABLE.includes(type),
      'searchable',
      withType(`: search finds only ${SEARCHABLE.join(', ')}`),
    ],
    [
      searchable === true && (access !== undefined || isHidden),
      'searchable',
      'would reveal the values of the field to others. Remove it, or access and visibleTo',
    ],
    [editable === true && isMultiple, 'editable', withType(', which previews do not change')],
    [
      editable === true && isHidden,
      'editable',
      `would show the value to those who do not see it, because the record of a change has the old value. Remove editable or visibleTo${instead}`,
    ],
    [
      reverse !== undefined && !isReference(field),
      'reverse',
      withType(', which has no other side', 'or use the type User or Group'),
    ],
  ];
}

const customField = customFieldKeys
  .superRefine((field, context) => {
    for (const [isBroken, key, message] of clashesOf(field))
      if (isBroken) context.addIssue({ code: 'custom', path: [key], message });
  })
  .describe('A custom field.');

const fields = recordOf(
  fieldName,
  z.union([attributes, customField], {
    error:
      'is neither an attribute nor a field. Write the attribute of a built-in field, or {attribute, type, description}',
  }),
).describe(
  'The attributes of built-in fields where they differ from the preset, and custom fields, by name.',
);

const form = mapOf({
  attribute: attributesOrNone.describe(
    'The attributes that name members. With several, all of them count. An empty list: none.',
  ),
  by: oneOf(NAMED_BY)
    .optional()
    .describe('What the values are: DNs, ids of users (such as memberUid), or entryUUIDs. Default: dn.'),
});

const forms = listOf(form, NAMED_BY.length).superRefine((written, context) => {
  const known = new Set<string>();
  for (const [index, { attribute: names, by = 'dn' }] of written.entries()) {
    const keys = [names].flat().map((name) => name.toLowerCase());
    const again = keys.find((name) => known.has(`attribute ${name}`));
    const report = (key: string, message: string) => {
      context.addIssue({ code: 'custom', path: [index, key], message });
    };
    if (known.has(by)) report('by', `is ${by} in two forms. Write one with a list of attributes`);
    if (again !== undefined)
      report('attribute', `reads ${quote(again)} in two ways. Keep the form that fits its values`);
    for (const key of [by, ...keys.map((name) => `attribute ${name}`)]) known.add(key);
  }
});

const role = z
  .union([form, forms], {
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
  listOf(
    mapOf({
      where: filter.describe('Matches the entries that are hidden (RFC 4515).'),
      to: oneOf(names).describe('Who sees them.'),
    }),
    100,
    0,
  )
    .optional()
    .describe(`${what} The first rule that matches decides.`);

/** The model file. This is the only declaration: validation and the published JSON Schema are derived from it. */
export const MODEL = mapOf({
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
  users: mapOf({
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
  groups: mapOf({
    ...entries,
    members: role.optional(),
    admins: role.optional(),
    owners: role.optional(),
    classes: objectClasses.optional().describe('The object classes of a new group in previews.'),
  })
    .optional()
    .describe('Where groups are, and what is read of them.'),
  scopes: recordOf(ownScope, sentence).optional().describe('Scopes of your own with their descriptions.'),
  visibility: mapOf({
    bypass: scopeName.optional().describe('The scope of tokens that see everything: one under `scopes`.'),
    users: rulesTo(['groupAdmins', 'self'], 'Users that are hidden.'),
    groups: rulesTo(['members', 'admins'], 'Groups that are hidden.'),
    members: rulesTo(['members', 'admins'], 'Groups whose members are hidden.'),
  })
    .optional()
    .describe('Who sees whom.'),
}).describe('The model of a directory: what is read of its entries, and who sees it.');

export type Model = z.output<typeof MODEL>;

/** The JSON Schema of the file, for editors. */
export function modelJsonSchema(): unknown {
  return { title: 'Directory model', ...z.toJSONSchema(MODEL, { io: 'input' }) };
}
