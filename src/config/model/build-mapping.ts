import { type Field, resolveFields } from '../../common/field.js';
import { BUILT_IN_FIELDS } from './built-in-fields.js';
import { isCustom } from './check-model.js';
import type { DirectoryMapping, EntryMapping, RoleMapping } from './mapping.js';
import type { Model, WrittenRole } from './model.schema.js';
import { definitionOf } from './custom-field.js';
import type { Preset } from './presets/preset.js';
import { DEFAULT_PRESET, PRESETS } from './presets/presets.js';

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
