import { counted } from '../../common/counted.js';
import { Document, isCollection, isMap, type Pair, type Scalar, type YAMLMap } from 'yaml';
import type { CustomField } from '../../config/model/model.schema.js';
import { memberAttributesOf, type MemberForm } from '../../config/model/mapping.js';
import type { Preset } from '../../config/model/presets/preset.js';
import {
  DEFAULT_PRESET,
  PRESET_NAMES,
  type PresetName,
  PRESETS,
} from '../../config/model/presets/presets.js';
import { filterOf, usualClasses } from './entry-classes.js';
import { countAttributes, type Evidence, type FoundAttribute, type Sample } from './evidence.js';
import { FieldNames, guessFields, scopesOfFields, type SuggestedField } from './guess-fields.js';
import { type GuessedEntries, guessEntries, guessOperational } from './guess-entries.js';
import { type GuessedRoles, guessRoles } from './guess-members.js';

type Kind = 'users' | 'groups';
type Found = ReadonlyMap<string, FoundAttribute>;

/** The largest number of custom fields of a kind that a model may have. */
const MOST_FIELDS = 100;

/** Proposes a model file for a directory (pure). It contains names and numbers of attributes, and no value of an entry. */
export function suggestModel(evidence: Evidence): string {
  const found = { users: foundIn(evidence.users, evidence), groups: foundIn(evidence.groups, evidence) };
  const users = guessEntries('users', found.users);
  const groups = guessEntries('groups', found.groups);
  const roles = guessRoles(ownAttributes(found.groups, groups, null), evidence, users.id);
  const names = new FieldNames();
  const fields = {
    users: guessFields('users', [...ownAttributes(found.users, users, null).values()], evidence, names),
    groups: guessFields('groups', [...ownAttributes(found.groups, groups, roles).values()], evidence, names),
  };
  const scopes = scopesOfFields(fields.users.slice(0, MOST_FIELDS));
  const document = new Document({
    ...describeServer(evidence),
    ...describeOperational({ ...guessOperational(found.users, presetOf(evidence).uuid) }),
    users: describeEntries('users', evidence, users, fields.users),
    groups: {
      ...describeEntries('groups', evidence, groups, fields.groups),
      ...describeRoles(roles, evidence),
    },
    ...(Object.keys(scopes).length > 0 && { scopes }),
  });
  document.commentBefore = headOf(evidence);
  annotate(document, evidence, { found, fields });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function foundIn(sample: Sample, { types }: Evidence): Found {
  return countAttributes(sample.entries, types);
}

/** The attributes that the identity, built-in fields and roles do not use. */
function ownAttributes(
  found: Found,
  { id, name, builtIn }: GuessedEntries,
  roles: GuessedRoles | null,
): Found {
  const ofRoles = roles === null ? [] : memberAttributesOf(roles);
  const used = [...(id === null ? [] : [id]), ...name, ...builtIn.values(), ...ofRoles];
  const keys = new Set(used.map((each) => each.toLowerCase()));
  // Values with options, such as mail;lang-fr, are values of the attribute, too.
  return new Map([...found].filter(([key]) => !keys.has(key) && !keys.has(key.replace(/;.*$/s, ''))));
}

function describeServer({ server }: Evidence): { server?: string } {
  return isPreset(server) ? { server } : {};
}

function presetOf({ server }: Evidence): Preset {
  return PRESETS[isPreset(server) ? server : DEFAULT_PRESET];
}

function isPreset(server: Evidence['server']): server is PresetName {
  return (PRESET_NAMES as readonly string[]).includes(server);
}

/** Attributes that are not found are left to the preset. */
function describeOperational(attributes: Readonly<Record<string, string | null>>): object {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null));
}

function describeEntries(
  kind: Kind,
  evidence: Evidence,
  { id, name, builtIn, disabled }: GuessedEntries,
  own: readonly SuggestedField[],
): object {
  const { bases, entries } = evidence[kind];
  if (entries.length === 0) return {};
  const fields: Record<string, string | CustomField> = Object.fromEntries(builtIn);
  for (const { name: field, field: definition } of own.slice(0, MOST_FIELDS)) fields[field] = definition;
  return {
    base: oneOrList(bases),
    filter: filterOf(kind === 'users' ? 'person' : 'group', entries),
    ...(id !== null && { id }),
    ...(name.length > 0 && { name: oneOrList(name) }),
    ...(disabled !== null && { disabled }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
}

function describeRoles(roles: GuessedRoles, { groups }: Evidence): object {
  const found = Object.entries(roles).filter(([, forms]) => forms.length > 0);
  const classes = usualClasses(groups.entries);
  return {
    ...Object.fromEntries(found.map(([role, forms]) => [role, oneOrList(forms.map(describeForm))])),
    ...(classes.length > 0 && { classes }),
  };
}

function describeForm({ attributes, by }: MemberForm) {
  return { attribute: oneOrList(attributes), by };
}

function oneOrList<Value>(values: readonly Value[]): Value | readonly Value[] {
  const [first] = values;
  return first !== undefined && values.length === 1 ? first : values;
}

function headOf({ server, baseDn, users, groups }: Evidence): string {
  const from = server === 'file' ? 'a file' : `a server of the kind ${server}`;
  return [
    ` A model of the directory below ${baseDn}, proposed from ${counted(users.entries.length, 'user')} and ${counted(groups.entries.length, 'group')} of ${from}.`,
    ' Check the types, remove fields that clients do not need, and set access and visibleTo where they need protection.',
    ' Then set DIRECTORY_MODEL to the file. `./directory check` reports how many entries and references it finds.',
  ].join('\n');
}

interface Counted {
  readonly found: Readonly<Record<Kind, Found>>;
  readonly fields: Readonly<Record<Kind, readonly SuggestedField[]>>;
}

/** Adds in how many entries each attribute is. */
function annotate(document: Document, evidence: Evidence, { found, fields }: Counted): void {
  for (const kind of ['users', 'groups'] as const) {
    const map = document.get(kind);
    if (!isMap(map)) continue;
    const total = evidence[kind].entries.length;
    const countOf = (attribute: string) => found[kind].get(attribute.toLowerCase())?.count;
    if (total === 0) map.comment = ` no ${kind} were found`;
    annotateMap(map, (attributes) => {
      const [first] = attributes;
      if (first === undefined || countOf(first) === undefined) return null;
      const counts = attributes.map((each) => `${each} in ${countOf(each) ?? 0}`);
      return attributes.length === 1
        ? ` in ${countOf(first) ?? 0} of ${total} entries`
        : ` ${counts.join(', ')} of ${total} entries`;
    });
    const more = fields[kind].length - MOST_FIELDS;
    const limit = `a model has at most ${MOST_FIELDS} fields`;
    if (more > 0) map.comment = ` ${more} more attributes are left out, because ${limit}`;
  }
}

/** The comment follows a value on one line, and precedes a field with several lines. */
function annotateMap(map: YAMLMap, commentOf: (attributes: readonly string[]) => string | null): void {
  for (const { key, value } of map.items as Pair<Scalar<string>, Scalar | YAMLMap | null>[]) {
    if (value === null) continue;
    if (isMap(value) && key.value === 'fields') annotateMap(value, commentOf);
    else if (isMap(value) && value.has('type')) key.commentBefore = commentOf(attributesOf(value));
    else if (!UNCOUNTED.includes(key.value)) {
      if (isCollection(value)) value.flow = true;
      value.comment = commentOf(attributesOf(isMap(value) ? value : map, key.value));
    } else if (isCollection(value)) value.flow = true;
  }
}

/** Keys whose values are not attributes. */
const UNCOUNTED: readonly string[] = ['base', 'filter', 'disabled', 'classes'];

function isForm(value: unknown): value is { readonly attribute: string | readonly string[] } {
  return typeof value === 'object' && value !== null;
}

/** The attributes of a value, which is one, a list, or a map with them, or a list of such maps. */
function attributesOf(map: YAMLMap, key = 'attribute'): string[] {
  const value = map.get(map.has('attribute') ? 'attribute' : key, true);
  const plain: unknown = isCollection(value) ? value.toJSON() : (value as unknown as Scalar).value;
  return [plain].flat().flatMap((each) => (isForm(each) ? each.attribute : String(each)));
}
