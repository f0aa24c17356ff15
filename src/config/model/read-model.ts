import type { Field } from '../../common/field.js';
import { compileFilter, InvalidFilterError } from '../../ldap/filter/filter.js';
import { BUILT_IN_SCOPES } from '../scopes.js';
import { BUILT_IN_FIELDS, buildMapping, type Kind, mappableFields } from './build-mapping.js';
import { type DirectoryMapping, hasRules, memberAttributesOf } from './mapping.js';
import { isCustom, MODEL, type Model, type OwnField } from './model.schema.js';
import { DEFAULT_PRESET, type PresetName } from './presets/presets.js';
import { checkShape, didYouMean, type Path, readYaml } from './yaml-file.js';

/**
 * Reads and checks a model file. The model of a file with problems is what remains without them.
 * @param file undefined: the built-in fields with the defaults of the preset
 * @param isOfFile whether the directory is a file, for which no server evaluates filters
 */
export function readModel(file: string | undefined, isOfFile = false) {
  const check = (text: string) => ({ ...checkModel(text, DEFAULT_PRESET, isOfFile), text });
  const { checked, problems } = readYaml('DIRECTORY_MODEL', file, check);
  return { model: checked?.model ?? {}, text: checked?.text ?? null, problems };
}

/**
 * Checks the text of a model file.
 * @param server the preset that applies if the model names no kind of server
 */
export function checkModel(text: string, server: PresetName = DEFAULT_PRESET, isOfFile = false) {
  const { shape, value, problems, problemOf } = checkShape(text, MODEL);
  const model = shape ?? {};
  // A declaration that is invalid is a problem of its own, and not one of each place that uses it.
  const { scopes: declared } = (value ?? {}) as { scopes?: unknown };
  const found = [
    ...KINDS.flatMap((kind) => findWrongFields(kind, model)),
    ...findWrongReverses(model),
    ...findUnknownScopes(model, Object.keys(declared ?? {})),
    ...findDisclosures({ server, ...model }),
    ...(isOfFile ? KINDS.flatMap((kind) => findServerFilters(kind, model)) : []),
  ].map(([path, cause]) =>
    problemOf(path, cause, path[1] === 'fields' && path.length === 3 ? 'key' : 'value'),
  );
  return { model, value, problems: [...problems, ...found] };
}

type Found = readonly [path: Path, text: string];

/** The filters that only a server can evaluate. */
function findServerFilters(kind: Kind, model: Model): Found[] {
  try {
    compileFilter(model[kind]?.filter ?? '(objectClass=*)');
    return [];
  } catch (error) {
    if (!(error instanceof InvalidFilterError)) throw error;
    return [[[kind, 'filter'], `${error.message}, and DIRECTORY_URL names a file`]];
  }
}

const MOST_FIELDS = 100;
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

/** Whether a field or a reverse connection of users or groups cannot have a name. */
export function isReserved(kind: Kind, name: string): boolean {
  return reservedNames(kind).includes(name) || name in Object.prototype;
}

const A_RESERVED_NAME = 'a name of the built-in schema or of the service';

function findWrongFields(kind: Kind, model: Model): Found[] {
  const fields = Object.entries(model[kind]?.fields ?? {});
  const own = fields.filter(([, field]) => isCustom(field)).length;
  const tooMany: Found = [[kind, 'fields'], `expected at most ${MOST_FIELDS} custom fields`];
  const wrong = fields.flatMap(([name, field]): Found[] => {
    const text = faultOfField(kind, name, field);
    return text === null ? [] : [[[kind, 'fields', name], text]];
  });
  return own > MOST_FIELDS ? [tooMany, ...wrong] : wrong;
}

function faultOfField(kind: Kind, name: string, field: OwnField | readonly string[]): string | null {
  const mappable = mappableFields(kind);
  // A built-in field has no options, but one of its own can have them.
  if (isCustom(field)) {
    if (mappable.includes(name)) return 'a built-in field: expected only its attribute';
    return isReserved(kind, name) ? A_RESERVED_NAME : null;
  }
  if (mappable.includes(name)) return null;
  if (isReserved(kind, name)) return 'not read from an attribute by fields';
  return `expected {attribute, type, description} for a custom field. ${didYouMean(name, mappable)}`;
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
      : `the name of another field or reverse of ${target}`;
    return [[[...path, 'reverse'], cause]];
  });
}

/** @param declared the scopes of the file */
function findUnknownScopes(model: Model, declared: readonly string[]): Found[] {
  const known = [...BUILT_IN_SCOPES.map(({ name }) => name), ...declared];
  const unknown = (name: string, among: readonly string[]) => `unknown scope. ${didYouMean(name, among)}`;
  const ofFields = customFieldsOf(model).flatMap(({ path, field: { access } }): Found[] =>
    access === undefined || known.includes(access) ? [] : [[[...path, 'access'], unknown(access, known)]],
  );
  const { bypass } = model.visibility ?? {};
  if (bypass === undefined || declared.includes(bypass)) return ofFields;
  // Tokens have the scopes of the built-in schema for other purposes, and would see everything from the next start on.
  const text = known.includes(bypass)
    ? 'a built-in scope, which tokens have for other purposes: expected one of scopes'
    : unknown(bypass, declared);
  return [...ofFields, [['visibility', 'bypass'], text]];
}

/** Attributes by which directory servers name the members of groups, or the groups of an entry, also if no mapping reads them. */
const MEMBERSHIP_ATTRIBUTES = [
  ...['member', 'uniqueMember', 'memberUid', 'roleOccupant', 'equivalentToMe'],
  ...['memberOf', 'isMemberOf', 'groupMembership', 'nsRole', 'nsRoleDN', 'primaryGroupID'],
  ...['msDS-MemberOfTransitive', 'msDS-MemberTransitive', 'tokenGroups', 'tokenGroupsGlobalAndUniversal'],
];

/** Fields that would show the values of a protected field, or who belongs to a group that rules hide. */
function findDisclosures(model: Model): Found[] {
  const mapping = buildMapping(model, '');
  return KINDS.flatMap((kind) => {
    const { fields } = mapping[kind];
    const written = model[kind]?.fields ?? {};
    const memberships =
      kind === 'users' ? (mapping.users.memberOf ?? []) : memberAttributesOf(mapping.groups);
    return fields.flatMap((field) => {
      const shown = fields
        .filter((other) => showsPreviously(field, other))
        .map((other): Found => {
          const place = Object.hasOwn(written, field.name) ? field.name : other.name;
          const text = `previews of ${field.name} would show ${other.name}, which has the same attribute and another access or visibleTo`;
          return [[kind, 'fields', place], text];
        });
      const text = 'would show memberships that visibility hides: expected access by the scope of bypass';
      if (showsMemberships(field, memberships, model, mapping))
        shown.push([[kind, 'fields', field.name], text]);
      return shown;
    });
  });
}

/** Rules of visibility apply to memberships, and not to a field of the model with the values of their attributes. */
function showsMemberships(
  { storedAs, scopes, attributes }: Field,
  memberships: readonly string[],
  { visibility }: Model,
  mapping: DirectoryMapping,
): boolean {
  const isOfBypass = visibility?.bypass !== undefined && scopes?.includes(visibility.bypass) === true;
  if (storedAs === undefined || !hasRules(mapping) || isOfBypass) return false;
  return haveCommon(attributes, [...MEMBERSHIP_ATTRIBUTES, ...memberships]);
}

/** Whether the previews of a field have the previous values of another one, which fewer see. */
function showsPreviously({ name, attribute, attributes, change, ...field }: Field, other: Field): boolean {
  if (name === other.name || change === undefined) return false;
  const isNarrower = other.visibleTo !== undefined && other.visibleTo !== field.visibleTo;
  const isProtected =
    isNarrower || (other.scopes ?? []).some((scope) => !(field.scopes ?? []).includes(scope));
  // A new value goes to the first attribute; a removal deletes the values of all.
  return isProtected && haveCommon(change.isRemovable ? attributes : [attribute], other.attributes);
}

function haveCommon(left: readonly string[], right: readonly string[]): boolean {
  const withoutOptions = (attribute: string) => attribute.replace(/;.*$/s, '').toLowerCase();
  const names = new Set(left.map(withoutOptions));
  return right.some((name) => names.has(withoutOptions(name)));
}
