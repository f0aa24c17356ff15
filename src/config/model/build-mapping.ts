import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { type Field, type FieldDefinition, type FieldReader, isMapped } from '../../common/field.js';
import type { Match } from '../../common/match.js';
import { GROUP_FIELDS } from '../../groups/group.fields.js';
import { USER_FIELDS } from '../../users/user.fields.js';
import {
  isCustom,
  isReference,
  type Model,
  type OwnField,
  type RoleMapping,
  type ValueType,
  valueTypeOf,
} from './model.schema.js';
import { DEFAULT_PRESET } from './presets/presets.js';
import { PRESETS } from './presets/read-presets.js';

/** The tables of built-in fields by the key of the model. */
export const BUILT_IN_FIELDS = {
  users: USER_FIELDS,
  groups: GROUP_FIELDS,
} as const satisfies Record<'users' | 'groups', readonly FieldDefinition[]>;

/** Names of the built-in fields whose attributes the key `fields` may name. Others have keys of their own. */
export function mappableFields(kind: 'users' | 'groups'): string[] {
  return BUILT_IN_FIELDS[kind].filter(isMapped).map(({ name }) => name);
}

export type Kind = 'users' | 'groups';

/** The model with the defaults of its preset. */
function effectiveModel(model: Model) {
  const { server = DEFAULT_PRESET, follow, scopes = {}, visibility = {} } = model;
  const preset = PRESETS[server];
  const { uuid, createdAt, modifiedAt } = { ...preset, ...model };
  const fieldsOf = (kind: Kind): Readonly<Record<string, readonly string[] | OwnField>> => ({
    ...Object.fromEntries(
      BUILT_IN_FIELDS[kind].filter(isMapped).map((field) => [field.name, field.attributes]),
    ),
    ...preset[kind].fields,
    ...model[kind]?.fields,
  });
  return {
    ...{ server, follow, uuid, createdAt, modifiedAt },
    users: { ...preset.users, ...model.users, fields: fieldsOf('users') },
    groups: { ...preset.groups, ...model.groups, fields: fieldsOf('groups') },
    ...{ scopes, visibility },
  };
}

/** Makes the effective mapping of a directory: the model, and the defaults of its preset, where presets.yaml says what the keys mean. */
export function buildMapping(model: Model, baseDn: string) {
  const { server, uuid, createdAt, modifiedAt, users, groups, visibility } = effectiveModel(model);
  const { hasAssertions, mayBeEmpty, singleValued, namingAttribute } = PRESETS[server];
  const entriesOf = (kind: Kind, { base, filter, id, name, fields }: Entries) => ({
    ...{ uuid, createdAt, modifiedAt, filter, id, name },
    /** DNs below which the entries are: at least one. */
    bases: base.map((each) => (each.trim() === '' ? baseDn : `${each},${baseDn}`)),
    /** The built-in fields with their attributes, and then the fields of the model file. */
    fields: definedFields(kind, { createdAt: [createdAt], id: [id], name }, fields),
    ...(hasAssertions && { hasAssertions }),
  });
  const { memberOf = [], photoStamp, disabled = null } = users;
  const roleOf = (forms: RoleMapping): RoleMapping =>
    forms
      .filter(({ attributes }) => attributes.length > 0)
      .map((form) => (form.attributes.join() === singleValued ? { ...form, isSingle: true } : form));
  return {
    users: {
      ...entriesOf('users', users),
      /** Filter (RFC 4515) of entries that are not active. Null: all are active. */
      disabled,
      rules: visibility.users ?? [],
      ...(memberOf.length > 0 && { memberOf }),
      ...(photoStamp !== undefined && { photoStamp }),
    },
    groups: {
      ...entriesOf('groups', groups),
      disabled: null,
      rules: visibility.groups ?? [],
      memberRules: visibility.members ?? [],
      members: roleOf(groups.members),
      admins: roleOf(groups.admins),
      owners: roleOf(groups.owners),
      classes: groups.classes,
      ...(mayBeEmpty && { mayBeEmpty }),
      ...(namingAttribute !== undefined && { namingAttribute }),
    },
  };
}

type Entries = Pick<ReturnType<typeof effectiveModel>['users'], 'base' | 'filter' | 'id' | 'name' | 'fields'>;

/** @param identity the attributes of fields that have keys of their own */
function definedFields(kind: Kind, identity: Record<string, string[]>, fields: Entries['fields']) {
  const written = Object.entries(fields);
  const own = written.flatMap(([name, field]) => (isCustom(field) ? [definitionOf(kind, name, field)] : []));
  const builtIn = written.flatMap(([name, field]) => (isCustom(field) ? [] : [[name, field] as const]));
  const given = new Map([...Object.entries(identity), ...builtIn]);
  return [...BUILT_IN_FIELDS[kind], ...own].map((definition): Field => {
    const attributes = given.get(definition.name) ?? definition.attributes;
    return { ...definition, attributes, attribute: attributes[0] ?? '' };
  });
}

/** Writes the effective model as a model file. */
export function describeModel(model: Model): string {
  // Without what is undefined, with a list of one text as that text, and with the key of the file for attributes of members.
  const text = JSON.stringify(effectiveModel(model), (_key, value: unknown) => {
    if (Array.isArray(value) && value.length === 1 && typeof value[0] === 'string') return value[0];
    if (typeof value !== 'object' || value === null || !('attributes' in value)) return value;
    const { attributes: attribute, ...form } = value;
    return { attribute, ...form };
  });
  return `# The effective model. Bases are relative to DIRECTORY_BASE_DN.\n${stringify(JSON.parse(text), { lineWidth: 0 })}`;
}

const READERS: Readonly<Record<ValueType, FieldReader>> = {
  String: 'text',
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
  DateTime: 'time',
  URL: 'url',
  User: 'reference',
  Group: 'reference',
};

/** Makes the definition of a field of the model, as the tables of built-in fields have them. */
function definitionOf(kind: Kind, name: string, field: OwnField): FieldDefinition {
  const { type, description, access, visibleTo, personal, attribute, deprecated } = field;
  return {
    name,
    type,
    description,
    attributes: attribute,
    reader: readerOf(field),
    column: null,
    deprecationReason: deprecated,
    match: matchIn(field),
    storedAs: storedNameOf(name, type, attribute),
    ...(access !== undefined && { scopes: [access] }),
    ...(visibleTo !== undefined && visibleTo !== 'everyone' && { visibleTo }),
    ...(field.filterable === true && { isFilterable: true }),
    ...(field.searchable === true && { isSearchable: true }),
    ...(personal === false && { isPersonal: false }),
    ...(field.editable === true && {
      change: { label: name, by: kind === 'users' ? 'administrator' : 'owner', isRemovable: true },
    }),
    ...(isReference(field) && {
      reference: { to: valueTypeOf(field) === 'User' ? 'user' : 'group', reverse: field.reverse ?? null },
    }),
  };
}

/** The rules of standard attributes. RFC 4519, 4524 and 2798 compare all other texts by caseIgnoreMatch. */
const MATCHES: readonly (readonly [Match, RegExp])[] = [
  ['caseExact', /^(labeledURI|homeDirectory|loginShell|memberUid)(;|$)/i],
  ['phone', /^((facsimile|mobile|pager|home)?telephoneNumber|mobile|pager|homePhone|fax)(;|$)/i],
  ['integer', /^(uidNumber|gidNumber)(;|$)/i],
];

/** Paths of URLs are case-sensitive in every attribute. Of several attributes, the first counts. */
export function matchIn({ match, type, attribute }: Pick<OwnField, 'match' | 'type' | 'attribute'>): Match {
  const [standard] = MATCHES.find(([, names]) => names.test(attribute[0] ?? '')) ?? [];
  return match ?? (valueTypeOf({ type }) === 'URL' ? 'caseExact' : (standard ?? 'caseIgnore'));
}

/**
 * The name contains the type and a digest of the attributes. A process with another model takes no value for one of its type,
 * and shows none of another attribute, which can have a narrower audience.
 */
function storedNameOf(name: string, type: OwnField['type'], attributes: readonly string[]): string {
  const digest = createHash('sha256').update(attributes.join(' ').toLowerCase()).digest('base64url');
  // 36 bits
  return `${name}:${type}:${digest.slice(0, 6)}`;
}

/** A value that an index holds is a line: longer texts do not fit into it. */
function readerOf(field: OwnField): FieldReader {
  const isIndexed = field.filterable === true || field.searchable === true;
  const isLine = field.type === '[String!]!' || (field.type === 'String' && isIndexed);
  return isLine ? 'line' : READERS[valueTypeOf(field)];
}
