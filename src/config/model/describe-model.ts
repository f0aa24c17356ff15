import { Document, isCollection, isMap, type Node, type Pair, type YAMLMap } from 'yaml';
import { buildMapping, buildScopes, mappableFields } from './build-mapping.js';
import type { EntryMapping, RoleMapping } from './mapping.js';
import { type Path, valueAt } from './yaml-file.js';
import type { Model, WrittenRole } from './model.schema.js';
import { DEFAULT_PRESET, type PresetName } from './presets/presets.js';
import { NO_MODEL, type ReadModel, readModel } from './read-model.js';
import { ownScopes } from '../scopes.js';

/**
 * Writes the effective model as a model file, in which a comment says where each value comes from.
 * @param recognized the kind of the server, which counts if the file names none
 */
export function describeModel(file: string | null, recognized: PresetName | null = null): string {
  const read = file === null ? NO_MODEL : readModel(file);
  const model = { ...read.model, server: read.model.server ?? recognized ?? undefined };
  const document = new Document(effectiveModel(model));
  const isRecognized = recognized !== null && read.model.server === undefined;
  annotate(document.contents, [], (path) =>
    isRecognized && path[0] === 'server' ? 'recognized' : originOf(path, { ...read, model }, file),
  );
  document.commentBefore = headOf(file);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
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
  return {
    server: model.server ?? DEFAULT_PRESET,
    ...(model.follow !== undefined && { follow: model.follow }),
    uuid: users.uuid,
    createdAt: users.createdAt,
    modifiedAt: users.modifiedAt,
    users: {
      ...describeEntries('users', users, model),
      ...(users.disabled !== null && { disabled: users.disabled }),
      // An empty list replaces that of the preset.
      ...((users.memberOf ?? model.users?.memberOf) !== undefined && {
        memberOf: oneOrList(users.memberOf ?? []),
      }),
      ...(users.photoStamp !== undefined && { photoStamp: oneOrList(users.photoStamp) }),
    },
    groups: {
      ...describeEntries('groups', groups, model),
      members: describeRole(groups.members, model.groups?.members),
      admins: describeRole(groups.admins, model.groups?.admins),
      owners: describeRole(groups.owners, model.groups?.owners),
      classes: oneOrList(groups.classes),
    },
    scopes: Object.fromEntries(
      ownScopes(buildScopes(model)).map(({ name, description }) => [name, description]),
    ),
    visibility: model.visibility ?? {},
  };
}

function describeEntries(
  kind: 'users' | 'groups',
  { bases, filter, id, name, fields }: EntryMapping,
  model: Model,
) {
  const builtIn = mappableFields(kind).map(
    (each) => [each, oneOrList(fields.find((field) => field.name === each)?.attributes ?? [])] as const,
  );
  return {
    base: oneOrList(bases.map((base) => base.replace(/,$/, ''))),
    filter,
    id,
    name: oneOrList(name),
    fields: { ...Object.fromEntries(builtIn), ...model[kind]?.fields },
  };
}

/** A list only where the file has one, or several forms need it. */
function describeRole(role: RoleMapping, written: WrittenRole | undefined): object {
  const forms = role.map(({ attributes, by }) => ({ attribute: oneOrList(attributes), by }));
  const [first = { attribute: [], by: 'dn' }] = forms;
  return forms.length > 1 || (forms.length === 1 && Array.isArray(written)) ? forms : first;
}

function oneOrList(values: readonly string[]): string | readonly string[] {
  return values.length === 1 ? (values[0] ?? '') : values;
}

function originOf(path: Path, { model, yaml }: ReadModel, file: string | null): string {
  if (yaml !== null && valueAt(yaml.value, path) !== undefined)
    return `${file ?? ''}:${yaml.placeOfKey(path).line}`;
  return path[0] === 'server' ? 'default' : `preset ${model.server ?? DEFAULT_PRESET}`;
}

/** Adds a comment to each value that is not a map of others. Short lists are on one line. */
function annotate(node: unknown, path: Path, originOfPath: (path: Path) => string): void {
  if (!isMap(node)) return;
  for (const pair of (node as YAMLMap<unknown, Node>).items as Pair<{ value: string }, Node>[]) {
    const inner = [...path, pair.key.value];
    const { value } = pair;
    if (isMap(value) && value.items.length > 0) {
      annotate(value, inner, originOfPath);
      continue;
    }
    if (isCollection(value)) value.flow = true;
    if (value !== null && !(isMap(value) && value.items.length === 0))
      value.comment = ` ${originOfPath(inner)}`;
  }
}
