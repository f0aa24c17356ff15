import type { Field } from '../../common/field.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter.js';
import { buildMapping } from './build-mapping.js';
import { type DirectoryMapping, memberAttributesOf } from './mapping.js';
import type { Model } from './model.schema.js';
import { DEFAULT_PRESET, PRESET_NAMES, type PresetName } from './presets/presets.js';
import { quote } from './quote.js';
import { type ModelProblem, YamlFile } from './yaml-file.js';

const MEMBERSHIPS = 'memberships';

/** Attributes by which directory servers name the members of groups, or the groups of an entry, also if no mapping reads them. */
const MEMBERSHIP_ATTRIBUTES = [
  ...['member', 'uniqueMember', 'memberUid', 'roleOccupant', 'equivalentToMe'],
  ...['memberOf', 'isMemberOf', 'groupMembership', 'nsRole', 'nsRoleDN', 'primaryGroupID'],
  ...['msDS-MemberOfTransitive', 'msDS-MemberTransitive', 'tokenGroups', 'tokenGroupsGlobalAndUniversal'],
];

/** Something that is read from attributes. */
interface Use {
  readonly of: string;
  readonly attributes: readonly string[];
}

/** A field of the model that conflicts with another use of the same attribute. */
interface AttributeConflict {
  readonly path: readonly [kind: 'users' | 'groups', key: 'fields', name: string];
  readonly text: string;
}

/**
 * Finds fields that conflict with another use of the same attribute: by their previews, or because they show who belongs to a group.
 * @param preset that of the server if the model names none. Null: it is not known yet, and only conflicts with every preset count
 */
export function checkAttributes(model: Model, file: YamlFile, preset: PresetName | null): ModelProblem[] {
  const server = model.server ?? preset;
  const conflicts = server === null ? conflictsWithAll(model) : findConflicts(model, server);
  return conflicts.map(({ path, text }) => ({ ...file.placeOfKey(path), text }));
}

function conflictsWithAll(model: Model): AttributeConflict[] {
  const found = findConflicts(model, DEFAULT_PRESET);
  if (found.length === 0) return found;
  const ofPresets = PRESET_NAMES.map(
    (server) => new Set(findConflicts(model, server).map((conflict) => JSON.stringify(conflict))),
  );
  return found.filter((conflict) => ofPresets.every((known) => known.has(JSON.stringify(conflict))));
}

/** Describes the conflicts of a model with the preset of a server that was recognized, each with its line and column. */
export function describeConflicts(model: Model, modelText: string | null, server: PresetName): string[] {
  const conflicts = findConflicts(model, server);
  if (conflicts.length === 0) return [];
  const file = new YamlFile(modelText ?? '');
  return conflicts.map(({ path, text }) => {
    const { line, column } = file.placeOfKey(path);
    return `${line}:${column}: ${text}. The server is of the kind ${server}`;
  });
}

function findConflicts(model: Model, server: PresetName): AttributeConflict[] {
  const mapping = buildMapping({ ...model, server }, '');
  return (['users', 'groups'] as const).flatMap((kind) => {
    const written = new Set(Object.keys(model[kind]?.fields ?? {}));
    const { fields } = mapping[kind];
    const uses = usesOf(kind, mapping, model);
    const effects = fields.filter(isCustom).flatMap((field) => {
      const text = effectOf(field, uses) ?? disclosureOf(field, uses, model);
      return text === null ? [] : [{ path: [kind, 'fields', field.name] as const, text }];
    });
    const conflicts = fields.filter(isChangeable).flatMap((field) =>
      fields.flatMap((other) => {
        const text = problemOf(field, other, fields.indexOf(other) < fields.indexOf(field));
        if (text === null) return [];
        const name = written.has(field.name) ? field.name : other.name;
        return [{ path: [kind, 'fields', name] as const, text }];
      }),
    );
    return [...conflicts, ...effects];
  });
}

/** What is read from attributes besides fields. */
function usesOf(
  kind: 'users' | 'groups',
  { users, groups }: DirectoryMapping,
  { visibility = {} }: Model,
): Use[] {
  const ofRules = (list: 'users' | 'groups' | 'members') => ({
    of: `visibility.${list}`,
    attributes: (visibility[list] ?? []).flatMap(({ where }) => readBy(where)),
  });
  if (kind === 'users')
    return [
      { of: 'the id', attributes: [users.id] },
      { of: 'active', attributes: users.disabled === null ? [] : readBy(users.disabled) },
      { of: MEMBERSHIPS, attributes: users.memberOf ?? [] },
      ofRules('users'),
    ];
  return [
    { of: 'the id', attributes: [groups.id] },
    { of: MEMBERSHIPS, attributes: memberAttributesOf(groups) },
    ofRules('groups'),
    ofRules('members'),
  ];
}

function effectOf(field: Field, uses: readonly Use[]): string | null {
  const use = uses.find(({ attributes }) => isChangeable(field) && haveCommon(changedBy(field), attributes));
  return use === undefined
    ? null
    : `${quote(field.name)} has previews that would not show their effect on ${use.of}, which depends on the same attribute. Remove editable, or use another attribute`;
}

/** Rules of visibility apply to memberships, and not to a field with the values of their attributes. */
function disclosureOf(
  { name, attributes, scopes = [] }: Field,
  uses: readonly Use[],
  { visibility = {} }: Model,
): string | null {
  const { bypass, users = [], groups = [], members = [] } = visibility;
  const hidesNothing = users.length + groups.length + members.length === 0;
  const isOfBypass = bypass !== undefined && scopes.includes(bypass);
  const memberships = uses.find(({ of }) => of === MEMBERSHIPS);
  const named = [...MEMBERSHIP_ATTRIBUTES, ...(memberships?.attributes ?? [])];
  if (hidesNothing || isOfBypass || !haveCommon(attributes, named)) return null;
  return `${quote(name)} would show memberships that visibility hides, because its attribute names them. Set access to the scope of bypass, or use another attribute`;
}

function readBy(filter: string): string[] {
  return attributesOfFilter(parseFilter(filter));
}

function problemOf(field: Field, other: Field, isBefore: boolean): string | null {
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

/** Two built-in fields can have a common attribute that no preview changes, such as the cn of a name. */
function comparedOf(field: Field, other: Field): readonly string[] {
  return isCustom(field) || isCustom(other) ? field.attributes : changedBy(field);
}

function isCustom({ storedAs }: Field): boolean {
  return storedAs !== undefined;
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
  const names = new Set(left.map(withoutOptions));
  return right.some((name) => names.has(withoutOptions(name)));
}

function withoutOptions(attribute: string): string {
  return attribute.replace(/;.*$/s, '').toLowerCase();
}
