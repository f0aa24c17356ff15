import { createHash } from 'node:crypto';
import { type FieldDefinition, type FieldReader, isMapped, resolveFields } from '../../common/field.js';
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
  isCustom,
  isReference,
  type Model,
  type OwnField,
  type ValueType,
  valueTypeOf,
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
  const everyEntry = {
    uuid: model.uuid ?? preset.uuid,
    modifiedAt: model.modifiedAt ?? preset.modifiedAt,
    ...(preset.hasAssertions && { hasAssertions: true as const }),
  };
  return {
    users: { ...everyEntry, ...buildEntries('users', model, preset, baseDn), ...buildUsers(model, preset) },
    groups: {
      ...everyEntry,
      ...buildEntries('groups', model, preset, baseDn),
      ...buildGroups(model, preset),
    },
  };
}

function buildUsers({ users = {}, visibility }: Model, preset: Preset) {
  const memberOf = users.memberOf ?? preset.users.memberOf ?? [];
  return {
    disabled: users.disabled ?? preset.users.disabled,
    rules: visibility?.users ?? [],
    ...(memberOf.length > 0 && { memberOf }),
    ...(users.photoStamp !== undefined && { photoStamp: users.photoStamp }),
  };
}

function buildGroups({ groups = {}, visibility }: Model, { groups: preset }: Preset) {
  const { mayBeEmpty, namingAttribute } = preset;
  return {
    disabled: null,
    rules: visibility?.groups ?? [],
    memberRules: visibility?.members ?? [],
    members: roleOf(groups.members, preset.members),
    admins: roleOf(groups.admins, preset.admins),
    owners: roleOf(groups.owners, preset.owners),
    classes: groups.classes ?? preset.classes,
    ...(mayBeEmpty && { mayBeEmpty }),
    ...(namingAttribute !== undefined && { namingAttribute }),
  };
}

type Entries = Pick<EntryMapping, 'bases' | 'filter' | 'createdAt' | 'id' | 'name' | 'fields'>;

function buildEntries(
  kind: 'users' | 'groups',
  model: Model,
  { [kind]: preset }: Preset,
  baseDn: string,
): Entries {
  const { base = [preset.base], filter = preset.filter, id, name, fields: named = {} } = model[kind] ?? {};
  const listOf = (attribute: string | undefined) => (attribute === undefined ? undefined : [attribute]);
  const written = Object.entries({ createdAt: listOf(model.createdAt), id: listOf(id), name, ...named });
  const own = written.flatMap(([each, field]) =>
    field !== undefined && isCustom(field) ? [definitionOf(kind, each, field)] : [],
  );
  const ofBuiltIn = written.flatMap(([each, field]) =>
    field === undefined || isCustom(field) ? [] : [[each, field] as const],
  );
  const fields = resolveFields([...BUILT_IN_FIELDS[kind], ...own], {
    ...preset.attributes,
    ...Object.fromEntries(ofBuiltIn),
  });
  const attributesOf = (wanted: string) => fields.find((field) => field.name === wanted)?.attributes ?? [];
  return {
    bases: base.map((each) => (each.trim() === '' ? baseDn : `${each},${baseDn}`)),
    filter,
    createdAt: attributesOf('createdAt')[0] ?? '',
    id: attributesOf('id')[0] ?? '',
    name: attributesOf('name'),
    fields,
  };
}

function roleOf(written: RoleMapping | undefined, preset: RoleMapping): RoleMapping {
  if (written === undefined) return preset;
  return written
    .filter(({ attributes }) => attributes.length > 0)
    .map(({ attributes, by }) => {
      const isSingle = preset.some((form) => form.isSingle && attributes.join() === form.attributes.join());
      return { attributes, by, ...(isSingle && { isSingle }) };
    });
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
function definitionOf(kind: 'users' | 'groups', name: string, field: OwnField): FieldDefinition {
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
      change: { label: labelOf(name), by: kind === 'users' ? 'administrator' : 'owner', isRemovable: true },
    }),
    ...(isReference(field) && {
      reference: { to: valueTypeOf(field) === 'User' ? 'user' : 'group', reverse: field.reverse ?? null },
    }),
  };
}

/** Paths of URLs are case-sensitive in every attribute. Of several attributes, the first counts. */
export function matchIn({ match, type, attribute }: Pick<OwnField, 'match' | 'type' | 'attribute'>): Match {
  return match ?? (valueTypeOf({ type }) === 'URL' ? 'caseExact' : matchOf(attribute[0] ?? ''));
}

/**
 * The name contains the type and a digest of the attributes. A process with another model takes no value for one of its type,
 * and shows none of another attribute, which can have a narrower audience.
 */
function storedNameOf(name: string, type: OwnField['type'], attributes: readonly string[]): string {
  const digest = createHash('sha256').update(attributes.join(' ').toLowerCase()).digest('base64url');
  return `${name}:${type}:${digest.slice(0, DIGEST_LENGTH)}`;
}

/** A value that an index holds is a line: longer texts do not fit into it. */
function readerOf(field: OwnField): FieldReader {
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
