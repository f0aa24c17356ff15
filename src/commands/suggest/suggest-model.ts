import { Document, isMap, visit } from 'yaml';
import { counted } from '../../common/counted.js';
import { ServiceError } from '../../common/errors.js';
import { memberAttributesOf } from '../../config/model/mapping.js';
import type { CustomField } from '../../config/model/model.schema.js';
import {
  DEFAULT_PRESET,
  PRESET_NAMES,
  type PresetName,
  PRESETS,
} from '../../config/model/presets/presets.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif.js';
import {
  countAttributes,
  type Evidence,
  filterOf,
  type FoundAttribute,
  type Progress,
  readEvidence,
  usualClasses,
} from './evidence.js';
import {
  guessEntries,
  type GuessedEntries,
  guessField,
  guessOperational,
  guessRoles,
  isUsable,
  type Kind,
  nameTaker,
  scopesOf,
  type TakeName,
} from './guesses.js';

type Found = ReadonlyMap<string, FoundAttribute>;

/** The largest number of custom fields of a kind that a model may have. */
const MOST_FIELDS = 100;

/**
 * Reads a part of a directory, without its model, and proposes a model file.
 * @throws {ServiceError} when it cannot be read, or has neither users nor groups
 */
export async function suggestFor(
  directory: DirectoryConfig,
  progress: Progress,
  signal: AbortSignal,
): Promise<string> {
  const evidence = await readEvidence(directory, progress, signal).catch((error: unknown) => {
    if (error instanceof LdapError || error instanceof LdifError)
      throw new ServiceError('SERVICE_UNAVAILABLE', `The directory cannot be read: ${error.message}`);
    throw error;
  });
  if (evidence.users.entries.length + evidence.groups.entries.length > 0) return suggestModel(evidence);
  const reason = 'Check DIRECTORY_BASE_DN and the rights of the account';
  throw new ServiceError(
    'NOT_FOUND',
    `There are no users and no groups below ${directory.baseDn}. ${reason}`,
  );
}

/** Proposes a model file for a directory (pure). It contains names of attributes, and no value of an entry. */
export function suggestModel(evidence: Evidence): string {
  const { server, names } = evidence;
  const found = {
    users: countAttributes(evidence.users.entries, names),
    groups: countAttributes(evidence.groups.entries, names),
  };
  const users = guessEntries('users', found.users);
  const groups = guessEntries('groups', found.groups);
  const roles = guessRoles(found.groups);
  const takeName = nameTaker();
  const fields = {
    users: guessFields('users', ownAttributes(found.users, users, []), evidence, takeName),
    groups: guessFields(
      'groups',
      ownAttributes(found.groups, groups, memberAttributesOf(roles)),
      evidence,
      takeName,
    ),
  };
  const preset = PRESETS[isPreset(server) ? server : DEFAULT_PRESET];
  const operational = Object.entries(guessOperational(found.users, preset.uuid));
  const scopes = scopesOf(fields.users.map(([, field]) => field));
  const classes = usualClasses(evidence.groups.entries);
  const ofRoles = Object.entries(roles).flatMap(([role, forms]): [string, unknown][] => {
    const written = forms.map(({ attributes, by }) => ({ attribute: oneOrList(attributes), by }));
    return written.length === 0 ? [] : [[role, oneOrList(written)]];
  });
  const document = new Document({
    ...(isPreset(server) && { server }),
    // Attributes that are not found are left to the preset.
    ...Object.fromEntries(operational.filter(([, value]) => value !== null)),
    users: describeEntries('users', evidence, users, fields.users),
    groups: {
      ...describeEntries('groups', evidence, groups, fields.groups),
      ...Object.fromEntries(ofRoles),
      ...(classes.length > 0 && { classes: oneOrList(classes) }),
    },
    ...(Object.keys(scopes).length > 0 && { scopes }),
  });
  document.commentBefore = headOf(evidence);
  visit(document, {
    Collection: (_key, node) => {
      if (!isMap(node) || node.has('attribute')) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** The attributes that the identity, built-in fields and roles do not use. */
function ownAttributes(
  found: Found,
  { id, name, builtIn }: GuessedEntries,
  ofRoles: readonly string[],
): FoundAttribute[] {
  const used = [...(id === null ? [] : [id]), ...name, ...builtIn.values(), ...ofRoles];
  const keys = new Set(used.map((each) => each.toLowerCase()));
  // Values with options, such as mail;lang-fr, are values of the attribute, too.
  return [...found.values()].filter(({ key }) => !keys.has(key) && !keys.has(key.replace(/;.*$/s, '')));
}

/** Proposes a field for each attribute that is not used otherwise, those in most entries first. */
function guessFields(kind: Kind, found: readonly FoundAttribute[], evidence: Evidence, takeName: TakeName) {
  return found
    .filter(isUsable)
    .sort((left, right) => right.count - left.count)
    .slice(0, MOST_FIELDS)
    .map((each) => guessField(kind, each, evidence, takeName));
}

function describeEntries(
  kind: Kind,
  evidence: Evidence,
  { id, name, builtIn, disabled }: GuessedEntries,
  own: readonly (readonly [string, CustomField])[],
): object {
  const { bases, entries } = evidence[kind];
  if (entries.length === 0) return {};
  const fields = { ...Object.fromEntries(builtIn), ...Object.fromEntries(own) };
  return {
    base: oneOrList(bases),
    filter: filterOf(kind === 'users' ? 'person' : 'group', entries),
    ...(id !== null && { id }),
    ...(name.length > 0 && { name: oneOrList(name) }),
    ...(disabled !== null && { disabled }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
}

function isPreset(server: Evidence['server']): server is PresetName {
  return (PRESET_NAMES as readonly string[]).includes(server);
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
