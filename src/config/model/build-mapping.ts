import { createHash } from 'node:crypto';
import {
  type Field,
  type FieldDefinition,
  type FieldReader,
  isMapped,
  resolveFields,
} from '../../common/field.js';
import { type Match, matchOf } from '../../common/match.js';
import { GROUP_FIELDS } from '../../groups/group.fields.js';
import { USER_FIELDS } from '../../users/user.fields.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from '../scopes.js';
import {
  type DirectoryMapping,
  type EntryMapping,
  NO_RULES,
  type RoleMapping,
  type VisibilityConfig,
} from './mapping.js';
import {
  type CustomField,
  isCustom,
  isReference,
  type Model,
  type ValueType,
  valueTypeOf,
  type WrittenRole,
} from './model.schema.js';
import { DEFAULT_PRESET, type Preset, PRESETS } from './presets/presets.js';

/** The tables of built-in fields by the key of the model. */
export const BUILT_IN_FIELDS = {
  users: USER_FIELDS,
  groups: GROUP_FIELDS,
} as const satisfies Record<'users' | 'groups', readonly FieldDefinition[]>;

/** Names of the built-in fields whose attributes the key `fields` may name. Others have keys of their own. */
export function mappableFields(kind: 'users' | 'groups'): string[] {
  return BUILT_IN_FIELDS[kind].filter(isMapped).map(({ name }) => name);
}

/** Makes the effective mapping of a directory: the model, and the defaults of its preset. */
export function buildMapping(model: Model, baseDn: string): DirectoryMapping {
  const preset: Preset = PRESETS[model.server ?? DEFAULT_PRESET];
  const { members, admins, owners, classes } = model.groups ?? {};
  const { groups } = preset;
  const everyEntry = {
    uuid: model.uuid ?? preset.uuid,
    modifiedAt: model.modifiedAt ?? preset.modifiedAt,
    ...(preset.hasAssertions && { hasAssertions: true as const }),
  };
  return {
    users: {
      ...everyEntry,
      ...buildEntries('users', model, preset, baseDn),
      disabled: model.users?.disabled ?? preset.users.disabled,
      rules: [],
      ...memberOfIn(model, preset),
      ...(model.users?.photoStamp !== undefined && { photoStamp: [model.users.photoStamp].flat() }),
    },
    groups: {
      ...everyEntry,
      ...buildEntries('groups', model, preset, baseDn),
      disabled: null,
      rules: [],
      memberRules: [],
      members: roleOf(members, groups.members),
      admins: roleOf(admins, groups.admins),
      owners: roleOf(owners, groups.owners),
      classes: classes === undefined ? groups.classes : [classes].flat(),
      ...newGroupsIn(preset),
    },
  };
}

function newGroupsIn({ groups: { mayBeEmpty, namingAttribute } }: Preset) {
  return { ...(mayBeEmpty && { mayBeEmpty }), ...(namingAttribute !== undefined && { namingAttribute }) };
}

function memberOfIn({ users }: Model, preset: Preset): Pick<DirectoryMapping['users'], 'memberOf'> {
  const memberOf = [users?.memberOf ?? preset.users.memberOf ?? []].flat();
  return memberOf.length === 0 ? {} : { memberOf };
}

type Entries = Pick<EntryMapping, 'bases' | 'filter' | 'createdAt' | 'id' | 'name' | 'fields'>;

function buildEntries(
  kind: 'users' | 'groups',
  model: Model,
  { createdAt, [kind]: preset }: Preset,
  baseDn: string,
): Entries {
  const entries = model[kind] ?? {};
  const fields = resolveFields([...BUILT_IN_FIELDS[kind], ...ownDefinitions(kind, model)], {
    ...(createdAt !== undefined && { createdAt: [createdAt] }),
    ...preset.attributes,
    ...attributesIn(kind, model),
  });
  return {
    bases: [entries.base ?? preset.base]
      .flat()
      .map((base) => (base.trim() === '' ? baseDn : `${base},${baseDn}`)),
    filter: entries.filter ?? preset.filter,
    createdAt: attributesOf(fields, 'createdAt')[0] ?? '',
    id: attributesOf(fields, 'id')[0] ?? '',
    name: attributesOf(fields, 'name'),
    fields,
  };
}

/** The attributes of built-in fields that the model names. */
function attributesIn(kind: 'users' | 'groups', model: Model): Record<string, readonly string[]> {
  const { id, name, fields = {} } = model[kind] ?? {};
  const named = Object.entries({ id, name, createdAt: model.createdAt, ...fields });
  return Object.fromEntries(
    named.flatMap(([field, value]) =>
      value === undefined || isCustom(value) ? [] : [[field, [value].flat()] as const],
    ),
  );
}

function ownDefinitions(kind: 'users' | 'groups', model: Model) {
  return Object.entries(model[kind]?.fields ?? {}).flatMap(([name, field]) =>
    isCustom(field) ? [definitionOf(kind, name, field)] : [],
  );
}

function attributesOf(fields: readonly Field[], name: string): readonly string[] {
  return fields.find((field) => field.name === name)?.attributes ?? [];
}

function roleOf(written: WrittenRole | undefined, preset: RoleMapping): RoleMapping {
  if (written === undefined) return preset;
  const forms = [written].flat().map(({ attribute, by = 'dn' }) => {
    const attributes = [attribute].flat();
    const isSingle = preset.some((form) => form.isSingle && attributes.join() === form.attributes.join());
    return { attributes, by, ...(isSingle && { isSingle }) };
  });
  return forms.filter(({ attributes }) => attributes.length > 0);
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

/** Six characters of base64url: 36 bits. */
const DIGEST_LENGTH = 6;

/** Makes the definition of a field of the model, as the tables of built-in fields have them. */
export function definitionOf(kind: 'users' | 'groups', name: string, field: CustomField): FieldDefinition {
  const { type, description, access, visibleTo, personal, attribute, deprecated } = field;
  return {
    name,
    type,
    description,
    attributes: [attribute].flat(),
    reader: readerOf(field),
    column: null,
    deprecationReason: deprecated,
    match: matchIn(field),
    storedAs: storedNameOf(name, type, [attribute].flat()),
    ...(access !== undefined && { scopes: [access] }),
    ...(visibleTo !== undefined && visibleTo !== 'everyone' && { visibleTo }),
    ...(field.filterable === true && { isFilterable: true }),
    ...(field.searchable === true && { isSearchable: true }),
    ...(personal === false && { isPersonal: false }),
    ...(field.editable === true && {
      change: { label: labelOf(name), by: kind === 'users' ? 'administrator' : 'owner', isRemovable: true },
    }),
    ...(isReference(field) && {
      reference: { to: valueTypeOf(field) === 'User' ? 'user' : 'group', reverse: field.reverse ?? null },
    }),
  };
}

/** Paths of URLs are case-sensitive in every attribute. Of several attributes, the first counts. */
export function matchIn({
  match,
  type,
  attribute,
}: Pick<CustomField, 'match' | 'type' | 'attribute'>): Match {
  return match ?? (valueTypeOf({ type }) === 'URL' ? 'caseExact' : matchOf([attribute].flat()[0] ?? ''));
}

/**
 * The name contains the type and a digest of the attributes. A process with another model takes no value for one of its type,
 * and shows none of another attribute, which can have a narrower audience.
 */
function storedNameOf(name: string, type: CustomField['type'], attributes: readonly string[]): string {
  const digest = createHash('sha256').update(attributes.join(' ').toLowerCase()).digest('base64url');
  return `${name}:${type}:${digest.slice(0, DIGEST_LENGTH)}`;
}

/** A value that an index holds is a line: longer texts do not fit into it. */
function readerOf(field: CustomField): FieldReader {
  if (field.type === '[String!]!') return 'lines';
  if (field.type === 'String' && (field.filterable === true || field.searchable === true)) return 'line';
  return READERS[valueTypeOf(field)];
}

/** The words of a name in camel case: employeeNumber is «employee number». */
export function labelOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}

export function buildVisibility({ visibility = {} }: Model): VisibilityConfig {
  const { bypass = NO_RULES.bypass, users = [], groups = [], members = [] } = visibility;
  return { bypass, users, groups, members };
}

/** The scopes that the service knows: those of the built-in schema, and then those of the model. */
export function buildScopes({ scopes = {} }: Model): readonly ScopeDefinition[] {
  return [
    ...BUILT_IN_SCOPES,
    ...Object.entries(scopes).map(([name, description]) => ({ name, description })),
  ];
}
