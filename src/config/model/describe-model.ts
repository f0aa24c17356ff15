import { Document, isCollection, isMap, type Node, type YAMLMap } from 'yaml';
import { ownScopes } from '../scopes.js';
import { buildMapping, buildScopes, mappableFields } from './build-mapping.js';
import type { EntryMapping, RoleMapping } from './mapping.js';
import type { Model } from './model.schema.js';
import { DEFAULT_PRESET, type PresetName } from './presets/presets.js';
import { NO_MODEL, type ReadModel, readModel } from './read-model.js';
import { type Path, valueAt } from './yaml-file.js';

/**
 * Writes the effective model as a model file, in which a comment says where each value comes from.
 * @param recognized the kind of the server, which counts if the file names none
 */
export function describeModel(file: string | null, recognized: PresetName | null = null): string {
  const read = file === null ? NO_MODEL : readModel(file);
  const server = read.model.server ?? recognized ?? DEFAULT_PRESET;
  const document = new Document(inShort(effectiveModel({ ...read.model, server })));
  annotate(document.contents, [], (path) => {
    if (isIn(read, path)) return `${file ?? ''}:${read.yaml?.placeOf(path, 'key').line ?? 1}`;
    if (path[0] !== 'server') return `preset ${server}`;
    return recognized === null ? 'default' : 'recognized';
  });
  document.commentBefore = headOf(file);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function isIn({ yaml }: ReadModel, path: Path): boolean {
  return valueAt(yaml?.value, path) !== undefined;
}

function headOf(file: string | null): string {
  const source = file === null ? 'No model file is set' : `The effective model of ${file}`;
  return [
    ` ${source}. This is a complete model file, and a comment says where each value comes from:`,
    ` ${file === null ? '' : 'FILE:LINE of the file, or '}the preset of the kind of server. A list of attributes names those of which the`,
    ' first that has a value is used. Bases are relative to DIRECTORY_BASE_DN.',
  ].join('\n');
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

/** Adds a comment to each value that is not a map of others. Short lists are on one line. */
function annotate(node: unknown, path: Path, originOf: (path: Path) => string): void {
  if (!isMap(node)) return;
  for (const { key, value } of (node as YAMLMap<{ value: string }, Node>).items) {
    const inner = [...path, key.value];
    if (isMap(value)) {
      annotate(value, inner, originOf);
    } else if (value !== null) {
      if (isCollection(value)) value.flow = true;
      value.comment = ` ${originOf(inner)}`;
    }
  }
}
