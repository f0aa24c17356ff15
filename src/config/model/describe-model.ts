import { Document, visit } from 'yaml';
import { ownScopes } from '../scopes.js';
import { buildMapping, buildScopes, mappableFields } from './build-mapping.js';
import type { EntryMapping, RoleMapping } from './mapping.js';
import type { Model } from './model.schema.js';

/** Writes the effective model as a model file: that of a file, and the defaults of the preset. */
export function describeModel(model: Model): string {
  const document = new Document(inShort(effectiveModel(model)));
  document.commentBefore =
    ' The effective model, which is a complete model file. Bases are relative to DIRECTORY_BASE_DN.';
  visit(document, {
    Seq: (_key, list) => {
      list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** All values, with the defaults of the preset. Bases are relative to the base DN, as in a file. */
function effectiveModel(model: Model): object {
  const { users, groups } = buildMapping(model, '');
  const scopes = ownScopes(buildScopes(model)).map(({ name, description }) => [name, description] as const);
  return {
    server: model.server,
    follow: model.follow,
    uuid: users.uuid,
    createdAt: users.createdAt,
    modifiedAt: users.modifiedAt,
    users: {
      ...describeEntries('users', users, model),
      disabled: users.disabled ?? undefined,
      // An empty list replaces that of the preset.
      memberOf: users.memberOf ?? model.users?.memberOf,
      photoStamp: users.photoStamp,
    },
    groups: {
      ...describeEntries('groups', groups, model),
      members: describeRole(groups.members),
      admins: describeRole(groups.admins),
      owners: describeRole(groups.owners),
      classes: groups.classes,
    },
    scopes: Object.fromEntries(scopes),
    visibility: model.visibility ?? {},
  };
}

function describeEntries(
  kind: 'users' | 'groups',
  { bases, filter, id, name, fields }: EntryMapping,
  model: Model,
) {
  const builtIn = mappableFields(kind).map(
    (each) => [each, fields.find((field) => field.name === each)?.attributes ?? []] as const,
  );
  return {
    base: bases.map((base) => base.replace(/,$/, '')),
    filter,
    id,
    name,
    fields: { ...Object.fromEntries(builtIn), ...model[kind]?.fields },
  };
}

function describeRole(role: RoleMapping): readonly object[] {
  return role.length === 0
    ? [{ attribute: [], by: 'dn' }]
    : role.map(({ attributes, by }) => ({ attribute: attributes, by }));
}

/** Leaves out what is undefined, and writes a list of one text as that text. */
function inShort(model: object): unknown {
  const text = JSON.stringify(model, (_key, value: unknown) =>
    Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? value[0] : value,
  );
  return JSON.parse(text);
}
