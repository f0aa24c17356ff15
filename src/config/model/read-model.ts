import type { Field } from '../../common/field.js';
import {
  attributesOfFilter,
  compileFilter,
  InvalidFilterError,
  parseFilter,
} from '../../ldap/filter/filter.js';
import { BUILT_IN_SCOPES } from '../scopes.js';
import { BUILT_IN_FIELDS, buildMapping, mappableFields } from './build-mapping.js';
import { type DirectoryMapping, hasRules, memberAttributesOf } from './mapping.js';
import { isCustom, MODEL, type Model, type OwnField } from './model.schema.js';
import { DEFAULT_PRESET, PRESET_NAMES, type PresetName } from './presets/presets.js';
import {
  checkShape,
  didYouMean,
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
 * @param isOfFile whether the directory is a file, for which no server evaluates filters
 */
export function readModel(file: string, isOfFile = false): ReadModel {
  const preset = isOfFile ? DEFAULT_PRESET : null;
  const check = (text: string) => checkModel(text, preset, isOfFile);
  const { checked, problems } = readYaml('DIRECTORY_MODEL', file, check);
  return { ...NO_MODEL, ...checked, problems };
}

/**
 * Checks the text of a model file.
 * @param preset the preset that applies if the model names no kind of server; null: it is not known yet
 */
export function checkModel(text: string, preset: PresetName | null = null, isOfFile = false) {
  const yaml = new YamlFile(text);
  const { shape, problems } = checkShape(yaml, MODEL);
  const model = shape ?? {};
  // A declaration that is invalid is a problem of its own, and not one of each place that uses it.
  const declared = Object.keys(valueAt(yaml.value, ['scopes']) ?? {});
  const found = [
    ...KINDS.flatMap((kind) => findWrongFields(kind, model)),
    ...findWrongReverses(model),
    ...findUnknownScopes(model, declared),
    ...findConflicts(model, preset),
    ...(isOfFile ? KINDS.flatMap((kind) => findServerFilters(kind, model)) : []),
  ].map(([path, cause]): FileProblem => {
    const isField = path[1] === 'fields' && path.length === 3;
    return { ...yaml.placeOf(path, isField ? 'key' : 'value'), text: cause };
  });
  return { model, yaml, problems: [...problems, ...found] };
}

type Found = readonly [path: Path, text: string];

/** The filters that only a server can evaluate. */
function findServerFilters(kind: Kind, model: Model): Found[] {
  try {
    compileFilter(model[kind]?.filter ?? '(objectClass=*)');
    return [];
  } catch (error) {
    if (!(error instanceof InvalidFilterError)) throw error;
    const cure = 'Write a filter by the values of an entry, because DIRECTORY_URL names a file';
    return [[[kind, 'filter'], `${kind}.filter is an ${error.message}. ${cure}`]];
  }
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

function faultOfField(kind: Kind, name: string, field: OwnField | readonly string[]): string | null {
  const mappable = mappableFields(kind);
  if (isCustom(field)) {
    // A built-in field has no options, but one of its own can have them.
    if (mappable.includes(name))
      return `is a built-in field of ${kind}. Write only the attribute that it is read from: ${name}: ${field.attribute.join(', ')}. For other keys, declare a custom field with another name`;
    return isReserved(kind, name) ? A_RESERVED_NAME : null;
  }
  if (mappable.includes(name)) return null;
  if (isReserved(kind, name))
    return `is not read from an attribute by fields. Remove it, or use the key of ${kind} or of the model`;
  return `is a custom field, and needs more. Write {attribute, type, description}. ${didYouMean(name, mappable, 'The name is not that of a built-in field')}`;
}

function customFieldsOf(model: Model): { path: [Kind, string, string]; field: OwnField }[] {
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
  const explain = (name: string, known: readonly string[]) =>
    `The scope ${quote(name)} does not exist. ${didYouMean(name, known, 'Declare it under scopes')}`;
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

/** Attributes by which directory servers name the members of groups, or the groups of an entry, also if no mapping reads them. */
const MEMBERSHIP_ATTRIBUTES = [
  ...['member', 'uniqueMember', 'memberUid', 'roleOccupant', 'equivalentToMe'],
  ...['memberOf', 'isMemberOf', 'groupMembership', 'nsRole', 'nsRoleDN', 'primaryGroupID'],
  ...['msDS-MemberOfTransitive', 'msDS-MemberTransitive', 'tokenGroups', 'tokenGroupsGlobalAndUniversal'],
];

/** Finds the conflicts with the preset of the server. While none is known, only those with every preset count. */
function findConflicts(model: Model, preset: PresetName | null): Found[] {
  const server = model.server ?? preset;
  const [first = [], ...others] = (server === null ? PRESET_NAMES : [server]).map((each) =>
    findConflictsWith({ ...model, server: each }),
  );
  const isIn = (conflict: Found, found: readonly Found[]) =>
    found.some((each) => JSON.stringify(each) === JSON.stringify(conflict));
  return first.filter((conflict) => others.every((found) => isIn(conflict, found)));
}

/** Fields that conflict with another use of their attribute: by their previews, or because they show who belongs to a group. */
function findConflictsWith(model: Model): Found[] {
  const mapping = buildMapping(model, '');
  return KINDS.flatMap((kind) => {
    const written = Object.keys(model[kind]?.fields ?? {});
    const { fields } = mapping[kind];
    const uses = usesOf(kind, mapping);
    return fields.flatMap((field, index) =>
      [
        ...fields.map((other, at) => [other.name, conflictOf(field, other, at < index)] as const),
        [field.name, effectOf(field, uses)] as const,
        [field.name, disclosureOf(field, uses[MEMBERSHIPS] ?? [], model, mapping)] as const,
      ].flatMap(([other, text]): Found[] =>
        text === null ? [] : [[[kind, 'fields', written.includes(field.name) ? field.name : other], text]],
      ),
    );
  });
}

const MEMBERSHIPS = 'memberships';
type Uses = Readonly<Record<string, readonly string[]>>;

/** The attributes of what is read from them besides fields. */
function usesOf(kind: Kind, { users, groups }: DirectoryMapping): Uses {
  const readBy = (filter: string) => attributesOfFilter(parseFilter(filter));
  const ofRules = (rules: readonly { where: string }[]) => rules.flatMap(({ where }) => readBy(where));
  return kind === 'users'
    ? {
        'the id': [users.id],
        active: users.disabled === null ? [] : readBy(users.disabled),
        [MEMBERSHIPS]: users.memberOf ?? [],
        'visibility.users': ofRules(users.rules),
      }
    : {
        'the id': [groups.id],
        [MEMBERSHIPS]: memberAttributesOf(groups),
        'visibility.groups': ofRules(groups.rules),
        'visibility.members': ofRules(groups.memberRules),
      };
}

function effectOf(field: Field, uses: Uses): string | null {
  if (!isOfModel(field) || !isChangeable(field)) return null;
  const use = Object.keys(uses).find((each) => haveCommon(changedBy(field), uses[each] ?? []));
  return use === undefined
    ? null
    : `${quote(field.name)} has previews that would not show their effect on ${use}, which depends on the same attribute. Remove editable, or use another attribute`;
}

/** Rules of visibility apply to memberships, and not to a field with the values of their attributes. */
function disclosureOf(
  field: Field,
  memberships: readonly string[],
  { visibility }: Model,
  mapping: DirectoryMapping,
): string | null {
  const isOfBypass = visibility?.bypass !== undefined && field.scopes?.includes(visibility.bypass) === true;
  if (!isOfModel(field) || !hasRules(mapping) || isOfBypass) return null;
  return haveCommon(field.attributes, [...MEMBERSHIP_ATTRIBUTES, ...memberships])
    ? `${quote(field.name)} would show memberships that visibility hides, because its attribute names them. Set access to the scope of bypass, or use another attribute`
    : null;
}

function conflictOf(field: Field, other: Field, isBefore: boolean): string | null {
  const [name, otherName] = [quote(field.name), quote(other.name)];
  if (field.name === other.name || !isChangeable(field)) return null;
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
