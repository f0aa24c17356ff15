import type { Field } from '../../common/field.js';
import {
  attributesOfFilter,
  compileFilter,
  InvalidFilterError,
  parseFilter,
} from '../../ldap/filter/filter.js';
import { BUILT_IN_SCOPES } from '../scopes.js';
import { BUILT_IN_FIELDS, buildMapping, mappableFields } from './build-mapping.js';
import { memberAttributesOf } from './mapping.js';
import { type CustomField, isCustom, MODEL, type Model } from './model.schema.js';
import { DEFAULT_PRESET, PRESET_NAMES, type PresetName } from './presets/presets.js';
import {
  type CheckedFile,
  checkShape,
  closestTo,
  type FileProblem,
  type Path,
  quote,
  readYaml,
  valueAt,
  YamlFile,
} from './yaml-file.js';

/** A model with its file, which knows the places of values. */
export interface ReadModel {
  readonly model: Model;
  readonly yaml: YamlFile | null;
  /** One line for each problem: FILE:LINE:COLUMN, cause and cure. */
  readonly problems: readonly string[];
}

/** The model without a file: the built-in fields with the defaults of the preset. */
export const NO_MODEL: ReadModel = { model: {}, yaml: null, problems: [] };

/**
 * Reads and checks a model file. The model of a file with problems is what remains without them.
 * @param preset the preset that applies if the model names no kind of server; null: it is not known yet
 */
export function readModel(file: string, preset: PresetName | null = null): ReadModel {
  const { checked, problems } = readYaml('DIRECTORY_MODEL', file, (text) => checkModel(text, preset));
  return { ...NO_MODEL, ...checked, problems };
}

/** Checks the text of a model file. */
export function checkModel(
  text: string,
  preset: PresetName | null = null,
): CheckedFile & { readonly model: Model; readonly yaml: YamlFile } {
  const yaml = new YamlFile(text);
  const { shape: model, problems, more } = checkShape(yaml, MODEL, { whole: 'the model', nothing: {} });
  return { model, yaml, problems: [...problems, ...checkMeaning(model, yaml, preset)], more };
}

/** Returns the problems of filters that only a server can evaluate, for a directory in a file. */
export function findServerFilters({ model, yaml }: ReadModel, file: string): string[] {
  return (['users', 'groups'] as const).flatMap((kind) => {
    const { filter } = model[kind] ?? {};
    const place = yaml?.placeOfValue([kind, 'filter']);
    if (filter === undefined || place === undefined) return [];
    try {
      compileFilter(filter);
      return [];
    } catch (error) {
      if (!(error instanceof InvalidFilterError)) throw error;
      const cure = 'Write a filter by the values of an entry, because DIRECTORY_URL names a file';
      return [`${file}:${place.line}:${place.column}: ${kind}.filter is an ${error.message}. ${cure}.`];
    }
  });
}

const MOST_FIELDS = 100;
type Kind = 'users' | 'groups';
const KINDS: readonly Kind[] = ['users', 'groups'];

/** Names of the built-in schema besides those of the tables of fields: of objects, filters and inputs of previews. */
const OF_SCHEMA = {
  users:
    'clientMutationId emails groups ids inGroup memberOf membership nodeId origin role schoolYears search updatedSince user',
  groups:
    'clientMutationId emails group hasMember ids isRoot members membership nodeId parent parents role search subgroups updatedSince withMember',
};
/** Names of properties that the code gives objects. */
const OF_CODE =
  'dn dnKey entryUuid isActive key membershipsAhead membersVisibleTo nodeType photoLevel pictureLevel prototype references then toJSON uuid visibleTo';

/** Names that fields and reverse connections of a model cannot have. */
export function reservedNames(kind: Kind): string[] {
  const ofFields = BUILT_IN_FIELDS[kind].map(({ name }) => name);
  return [...ofFields, ...OF_SCHEMA[kind].split(' '), ...OF_CODE.split(' ')];
}

const RESERVED = { users: new Set(reservedNames('users')), groups: new Set(reservedNames('groups')) };

/** Whether a field or a reverse connection of users or groups cannot have a name. */
export function isReserved(kind: Kind, name: string): boolean {
  return RESERVED[kind].has(name) || name in Object.prototype;
}

/**
 * Finds what is wrong between values that are valid one by one.
 * @param preset that of the server if the model names none. Null: it is not known yet
 */
function checkMeaning(model: Model, file: YamlFile, preset: PresetName | null): FileProblem[] {
  const atKey = (path: Path, text: string) => ({ ...file.placeOfKey(path), text });
  const atValue = (path: Path, text: string) => ({ ...file.placeOfValue(path), text });
  // A declaration that is invalid is a problem of its own, and not one of each place that uses it.
  const declared = Object.keys(valueAt(file.value, ['scopes']) ?? {});
  return [
    ...KINDS.flatMap((kind) => findWrongFields(kind, model).map(([path, text]) => atKey(path, text))),
    ...findWrongReverses(model).map(([path, text]) => atValue(path, text)),
    ...findUnknownScopes(model, declared).map(([path, text]) => atValue(path, text)),
    ...findConflictsNow(model, preset).map(([path, text]) => atKey(path, text)),
  ];
}

type Found = readonly [path: Path, text: string];

const A_RESERVED_NAME = 'is a name of the built-in schema or of the service. Choose another name';

function findWrongFields(kind: Kind, model: Model): Found[] {
  const fields = Object.entries(model[kind]?.fields ?? {});
  const own = fields.filter(([, field]) => isCustom(field)).length;
  const tooMany: Found = [[kind, 'fields'], `${kind}.fields has ${own} fields. Keep at most ${MOST_FIELDS}`];
  const wrong = fields.flatMap(([name, field]): Found[] => {
    const text = faultOfField(kind, name, field);
    return text === null ? [] : [[[kind, 'fields', name], `${quote(name)} ${text}`]];
  });
  return own > MOST_FIELDS ? [tooMany, ...wrong] : wrong;
}

function faultOfField(kind: Kind, name: string, field: CustomField | string | string[]): string | null {
  const mappable = mappableFields(kind);
  const isMappable = mappable.includes(name);
  if (isCustom(field)) {
    // A built-in field has no options, but one of its own can have them.
    const attributes = [field.attribute].flat();
    const short = `${name}: ${attributes.length === 1 ? (attributes[0] ?? '') : `[${attributes.join(', ')}]`}`;
    if (isMappable)
      return `is a built-in field of ${kind}. Write only the attribute that it is read from: ${short}. For other keys, declare a custom field with another name`;
    return isReserved(kind, name) ? A_RESERVED_NAME : null;
  }
  if (isMappable) return null;
  if (isReserved(kind, name))
    return `is not read from an attribute by fields. Remove it, or use the key of ${kind} or of the model`;
  const closest = closestTo(name, mappable);
  const meant = closest === null ? '' : `. Or did you mean ${closest}?`;
  return `is a custom field, and needs more. Write {attribute, type, description}${meant}`;
}

function customFieldsOf(model: Model): { path: [Kind, string, string]; field: CustomField }[] {
  return KINDS.flatMap((kind) =>
    Object.entries(model[kind]?.fields ?? {}).flatMap(([name, field]) =>
      isCustom(field) ? [{ path: [kind, 'fields', name] as [Kind, string, string], field }] : [],
    ),
  );
}

/** A reverse name is a field of the other type: it is unique among all fields there. */
function findWrongReverses(model: Model): Found[] {
  const namesOf = (kind: Kind) => new Set(Object.keys(model[kind]?.fields ?? {}));
  const taken = { users: namesOf('users'), groups: namesOf('groups') };
  return customFieldsOf(model).flatMap(({ path, field: { type, reverse } }): Found[] => {
    if (reverse === undefined) return [];
    const target = type.includes('User') ? 'users' : 'groups';
    const isTaken = taken[target].has(reverse);
    taken[target].add(reverse);
    if (!isTaken && !isReserved(target, reverse)) return [];
    const cause = isReserved(target, reverse)
      ? A_RESERVED_NAME
      : `is the name of another field or reverse of ${target}. Choose another name`;
    return [[[...path, 'reverse'], `${quote(reverse)} ${cause}`]];
  });
}

/** @param declared the scopes of the file */
function findUnknownScopes(model: Model, declared: readonly string[]): Found[] {
  const builtIn: readonly string[] = BUILT_IN_SCOPES.map(({ name }) => name);
  const explain = (name: string, known: readonly string[]) => {
    const closest = closestTo(name, known);
    const cure = closest === null ? 'Declare' : `Did you mean ${closest}? Otherwise declare`;
    return `The scope ${quote(name)} does not exist. ${cure} it under scopes`;
  };
  const known = [...builtIn, ...declared];
  const ofFields = customFieldsOf(model).flatMap(({ path, field: { access } }): Found[] =>
    access === undefined || known.includes(access) ? [] : [[[...path, 'access'], explain(access, known)]],
  );
  const { bypass } = model.visibility ?? {};
  if (bypass === undefined || declared.includes(bypass)) return ofFields;
  // Tokens have the scopes of the built-in schema for other purposes, and would see everything from the next start on.
  const text = builtIn.includes(bypass)
    ? `${quote(bypass)} is a built-in scope, which tokens have for other purposes: they would see everything that is hidden. Declare a scope of your own under scopes, and name it here`
    : explain(bypass, declared);
  return [...ofFields, [['visibility', 'bypass'], text]];
}

const MEMBERSHIPS = 'memberships';
/** Attributes by which directory servers name the members of groups, or the groups of an entry, also if no mapping reads them. */
const MEMBERSHIP_ATTRIBUTES = [
  ...['member', 'uniqueMember', 'memberUid', 'roleOccupant', 'equivalentToMe'],
  ...['memberOf', 'isMemberOf', 'groupMembership', 'nsRole', 'nsRoleDN', 'primaryGroupID'],
  ...['msDS-MemberOfTransitive', 'msDS-MemberTransitive', 'tokenGroups', 'tokenGroupsGlobalAndUniversal'],
];

/** Without a known server, only conflicts with every preset count. */
function findConflictsNow(model: Model, preset: PresetName | null): Found[] {
  const server = model.server ?? preset;
  if (server !== null) return findConflicts(model, server);
  const found = findConflicts(model, DEFAULT_PRESET);
  if (found.length === 0) return found;
  const ofPresets = PRESET_NAMES.map(
    (each) => new Set(findConflicts(model, each).map((conflict) => JSON.stringify(conflict))),
  );
  return found.filter((conflict) => ofPresets.every((known) => known.has(JSON.stringify(conflict))));
}

/** Describes the conflicts of a model with the preset of a server that was recognized, each with its line and column. */
export function describeConflicts(model: Model, modelText: string | null, server: PresetName): string[] {
  const conflicts = findConflicts(model, server);
  if (conflicts.length === 0) return [];
  const file = new YamlFile(modelText ?? '');
  return conflicts.map(([path, text]) => {
    const { line, column } = file.placeOfKey(path);
    return `${line}:${column}: ${text}. The server is of the kind ${server}`;
  });
}

/** Fields that conflict with another use of their attribute: by their previews, or because they show who belongs to a group. */
function findConflicts(model: Model, server: PresetName): Found[] {
  const mapping = buildMapping({ ...model, server }, '');
  return KINDS.flatMap((kind) => {
    const written = new Set(Object.keys(model[kind]?.fields ?? {}));
    const { fields } = mapping[kind];
    const uses = usesOf(kind, mapping, model);
    const effects = fields.filter(isOfModel).flatMap((field): Found[] => {
      const text = effectOf(field, uses) ?? disclosureOf(field, uses.get(MEMBERSHIPS) ?? [], model);
      return text === null ? [] : [[[kind, 'fields', field.name], text]];
    });
    const conflicts = fields.filter(isChangeable).flatMap((field) =>
      fields.flatMap((other): Found[] => {
        const text = conflictOf(field, other, fields.indexOf(other) < fields.indexOf(field));
        if (text === null) return [];
        return [[[kind, 'fields', written.has(field.name) ? field.name : other.name], text]];
      }),
    );
    return [...conflicts, ...effects];
  });
}

/** The attributes of what is read from them besides fields. */
function usesOf(
  kind: Kind,
  { users, groups }: ReturnType<typeof buildMapping>,
  { visibility = {} }: Model,
): ReadonlyMap<string, readonly string[]> {
  const readBy = (filter: string) => attributesOfFilter(parseFilter(filter));
  const ofRules = (list: 'users' | 'groups' | 'members') =>
    [`visibility.${list}`, (visibility[list] ?? []).flatMap(({ where }) => readBy(where))] as const;
  if (kind === 'users')
    return new Map<string, readonly string[]>([
      ['the id', [users.id]],
      ['active', users.disabled === null ? [] : readBy(users.disabled)],
      [MEMBERSHIPS, users.memberOf ?? []],
      ofRules('users'),
    ]);
  return new Map<string, readonly string[]>([
    ['the id', [groups.id]],
    [MEMBERSHIPS, memberAttributesOf(groups)],
    ofRules('groups'),
    ofRules('members'),
  ]);
}

function effectOf(field: Field, uses: ReadonlyMap<string, readonly string[]>): string | null {
  if (!isChangeable(field)) return null;
  const use = [...uses].find(([, attributes]) => haveCommon(changedBy(field), attributes));
  return use === undefined
    ? null
    : `${quote(field.name)} has previews that would not show their effect on ${use[0]}, which depends on the same attribute. Remove editable, or use another attribute`;
}

/** Rules of visibility apply to memberships, and not to a field with the values of their attributes. */
function disclosureOf(
  { name, attributes, scopes = [] }: Field,
  memberships: readonly string[],
  { visibility = {} }: Model,
): string | null {
  const { bypass, users = [], groups = [], members = [] } = visibility;
  const hidesNothing = users.length + groups.length + members.length === 0;
  const isOfBypass = bypass !== undefined && scopes.includes(bypass);
  if (hidesNothing || isOfBypass || !haveCommon(attributes, [...MEMBERSHIP_ATTRIBUTES, ...memberships]))
    return null;
  return `${quote(name)} would show memberships that visibility hides, because its attribute names them. Set access to the scope of bypass, or use another attribute`;
}

function conflictOf(field: Field, other: Field, isBefore: boolean): string | null {
  const [name, otherName] = [quote(field.name), quote(other.name)];
  if (field.name === other.name) return null;
  if (isBefore && isChangeable(other) && haveCommon(comparedOf(field, other), comparedOf(other, field)))
    return `${name} and ${otherName} have a common attribute, and previews change both. Remove editable from one of them, or use another attribute`;
  if (!isProtectedMore(other, field) || !haveCommon(changedBy(field), other.attributes)) return null;
  return `${name} has previews that would show the values of ${otherName}, which has the same attribute and another access or visibleTo. Remove editable, or use another attribute`;
}

function isChangeable({ change }: Field): boolean {
  return change !== undefined;
}

function isOfModel({ storedAs }: Field): boolean {
  return storedAs !== undefined;
}

/** Two built-in fields can have a common attribute that no preview changes, such as the cn of a name. */
function comparedOf(field: Field, other: Field): readonly string[] {
  return isOfModel(field) || isOfModel(other) ? field.attributes : changedBy(field);
}

/** A new value goes to the first attribute; a removal deletes the values of all. */
function changedBy({ attribute, attributes, change }: Field): readonly string[] {
  return change?.isRemovable === true ? attributes : [attribute];
}

function isProtectedMore(other: Field, { scopes = [], visibleTo }: Field): boolean {
  const isNarrower = other.visibleTo !== undefined && other.visibleTo !== visibleTo;
  return isNarrower || (other.scopes ?? []).some((scope) => !scopes.includes(scope));
}

function haveCommon(left: readonly string[], right: readonly string[]): boolean {
  const withoutOptions = (attribute: string) => attribute.replace(/;.*$/s, '').toLowerCase();
  const names = new Set(left.map(withoutOptions));
  return right.some((name) => names.has(withoutOptions(name)));
}
