import { createHash } from 'node:crypto';
import { Document, visit } from 'yaml';
import { type FieldDefinition, type FieldReader, isMapped, resolveFields } from '../../common/field.js';
import { type Match, matchOf } from '../../common/match.js';
import { GROUP_FIELDS } from '../../groups/group.fields.js';
import { USER_FIELDS } from '../../users/user.fields.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from '../scopes.js';
import { type DirectoryMapping, NO_RULES, type RoleMapping, type VisibilityConfig } from './mapping.js';
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

type Kind = 'users' | 'groups';

/** The model with the defaults of its preset. */
function effectiveModel(model: Model) {
  const { server = DEFAULT_PRESET, follow, users = {}, groups = {}, scopes = {}, visibility = {} } = model;
  const preset: Preset = PRESETS[server];
  const entriesOf = (kind: Kind) => {
    const { base = [preset[kind].base], filter = preset[kind].filter, ...given } = model[kind] ?? {};
    const attributesOf = (name: string) =>
      preset[kind].attributes[name] ??
      BUILT_IN_FIELDS[kind].find((field) => field.name === name)?.attributes ??
      [];
    const { id = attributesOf('id')[0] ?? '', name = attributesOf('name') } = given;
    const builtIn = Object.fromEntries(mappableFields(kind).map((field) => [field, attributesOf(field)]));
    const fields: Record<string, readonly string[] | OwnField> = { ...builtIn, ...given.fields };
    return {
      createdAt: model.createdAt ?? attributesOf('createdAt')[0] ?? '',
      base,
      filter,
      id,
      name,
      fields,
    };
  };
  const { createdAt, ...ofUsers } = entriesOf('users');
  const { createdAt: _createdAt, ...ofGroups } = entriesOf('groups');
  return {
    server,
    follow,
    uuid: model.uuid ?? preset.uuid,
    createdAt,
    modifiedAt: model.modifiedAt ?? preset.modifiedAt,
    users: {
      ...ofUsers,
      disabled: users.disabled ?? preset.users.disabled ?? undefined,
      // An empty list replaces that of the preset.
      memberOf: users.memberOf ?? preset.users.memberOf,
      photoStamp: users.photoStamp,
    },
    groups: {
      ...ofGroups,
      members: groups.members ?? preset.groups.members,
      admins: groups.admins ?? preset.groups.admins,
      owners: groups.owners ?? preset.groups.owners,
      classes: groups.classes ?? preset.groups.classes,
    },
    scopes,
    visibility,
  };
}

/** Makes the effective mapping of a directory: the model, and the defaults of its preset. */
export function buildMapping(model: Model, baseDn: string): DirectoryMapping {
  const effective = effectiveModel(model);
  const { uuid, createdAt, modifiedAt, users, groups, visibility } = effective;
  const preset: Preset = PRESETS[effective.server];
  const { mayBeEmpty, namingAttribute, ...roles } = preset.groups;
  const entriesOf = (kind: Kind) => ({
    uuid,
    createdAt,
    modifiedAt,
    filter: effective[kind].filter,
    id: effective[kind].id,
    name: effective[kind].name,
    bases: effective[kind].base.map((base) => (base.trim() === '' ? baseDn : `${base},${baseDn}`)),
    fields: fieldsOf(kind, effective[kind], createdAt),
    ...(preset.hasAssertions && { hasAssertions: true as const }),
  });
  const { memberOf = [], photoStamp, disabled = null } = users;
  return {
    users: {
      ...entriesOf('users'),
      disabled,
      rules: visibility.users ?? [],
      ...(memberOf.length > 0 && { memberOf }),
      ...(photoStamp !== undefined && { photoStamp }),
    },
    groups: {
      ...entriesOf('groups'),
      disabled: null,
      rules: visibility.groups ?? [],
      memberRules: visibility.members ?? [],
      members: roleOf(groups.members, roles.members),
      admins: roleOf(groups.admins, roles.admins),
      owners: roleOf(groups.owners, roles.owners),
      classes: groups.classes,
      ...(mayBeEmpty && { mayBeEmpty }),
      ...(namingAttribute !== undefined && { namingAttribute }),
    },
  };
}

type Entries = Pick<ReturnType<typeof effectiveModel>['users'], 'id' | 'name' | 'fields'>;

function fieldsOf(kind: Kind, { id, name, fields }: Entries, createdAt: string) {
  const written = Object.entries(fields);
  const own = written.flatMap(([each, field]) => (isCustom(field) ? [definitionOf(kind, each, field)] : []));
  const builtIn = written.flatMap(([each, field]) => (isCustom(field) ? [] : [[each, field] as const]));
  const attributes = { createdAt: [createdAt], id: [id], name, ...Object.fromEntries(builtIn) };
  return resolveFields([...BUILT_IN_FIELDS[kind], ...own], attributes);
}

function roleOf(role: RoleMapping, preset: RoleMapping): RoleMapping {
  return role
    .filter(({ attributes }) => attributes.length > 0)
    .map(({ attributes, by }) => {
      const isSingle = preset.some((form) => form.isSingle && attributes.join() === form.attributes.join());
      return { attributes, by, ...(isSingle && { isSingle }) };
    });
}

/** Writes the effective model as a model file. */
export function describeModel(model: Model): string {
  const effective = effectiveModel(model);
  const { groups } = effective;
  const describe = (role: RoleMapping) =>
    (role.length === 0 ? [{ attributes: [], by: 'dn' }] : role).map(({ attributes, by }) => ({
      attribute: attributes,
      by,
    }));
  const [members, admins, owners] = [groups.members, groups.admins, groups.owners].map(describe);
  // Without what is undefined, and with a list of one text as that text.
  const text = JSON.stringify(
    { ...effective, groups: { ...groups, members, admins, owners } },
    (_key, value: unknown) =>
      Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? value[0] : value,
  );
  const document = new Document(JSON.parse(text));
  document.commentBefore = ' The effective model. Bases are relative to DIRECTORY_BASE_DN.';
  visit(document, {
    Seq: (_key, list) => {
      list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
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
