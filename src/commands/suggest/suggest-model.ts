import { Document, isMap, visit } from 'yaml';
import { counted } from '../../common/counted.js';
import { ServiceError } from '../../common/errors.js';
import type { FieldReader } from '../../common/field.js';
import { buildMapping, labelOf, mappableFields } from '../../config/model/build-mapping.js';
import { type DirectoryMapping, memberAttributesOf, type RoleMapping } from '../../config/model/mapping.js';
import {
  attribute as attributeName,
  type CustomField,
  type ValueType,
} from '../../config/model/model.schema.js';
import { DEFAULT_PRESET, PRESET_NAMES } from '../../config/model/presets/presets.js';
import { isReserved } from '../../config/model/read-model.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { Misfit, parseValue } from '../../mirror/map/entry-reader.js';
import type { EntryKind } from '../../sources/directory.js';
import {
  countAttributes,
  type Evidence,
  filterOf,
  type FoundAttribute,
  isDnBelow,
  type Progress,
  readEvidence,
  usualClasses,
} from './evidence.js';

type Kind = 'users' | 'groups';
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
  const { server } = evidence;
  const preset = PRESET_NAMES.find((name) => name === server);
  // The presets know the usual attributes. Those of the kind of the server are the first.
  const usual = [preset ?? DEFAULT_PRESET, ...PRESET_NAMES].map((name) => buildMapping({ server: name }, ''));
  const found = {
    users: countAttributes(evidence.users.entries, evidence.names),
    groups: countAttributes(evidence.groups.entries, evidence.names),
  };
  const roles = guessRoles(found.groups, usual);
  const takeName = nameTaker();
  const entriesOf = (kind: Kind, ofRoles: readonly string[]) => {
    const guessed = guessEntries(kind, found[kind], usual);
    const own = ownAttributes(found[kind], guessed, ofRoles);
    return { ...guessed, own: own.map((each) => guessField(kind, each, evidence, takeName)) };
  };
  const users = entriesOf('users', []);
  const groups = entriesOf('groups', memberAttributesOf(roles));
  const scopes = SCOPES.filter(([scope]) => users.own.some(([, { access }]) => access === scope));
  const operational = (['uuid', 'createdAt', 'modifiedAt'] as const).map((key) => {
    const candidates = usual.map((mapping) => mapping.users[key]);
    return [key, mostUsed(candidates, found.users)] as const;
  });
  const ofRoles = Object.entries(roles).map(([role, forms]) => [role, written(forms)] as const);
  const document = new Document({
    ...(preset !== undefined && { server: preset }),
    // Attributes that are not found are left to the preset.
    ...valuesOf(operational),
    users: describeEntries('users', evidence, users),
    groups: {
      ...describeEntries('groups', evidence, groups),
      ...valuesOf([...ofRoles, ['classes', oneOrList(usualClasses(evidence.groups.entries))]]),
    },
    ...(scopes.length > 0 && { scopes: Object.fromEntries(scopes.map(([scope, text]) => [scope, text])) }),
  });
  document.commentBefore = headOf(evidence);
  visit(document, {
    Collection: (_key, node) => {
      if (!isMap(node) || node.has('attribute')) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function describeEntries(
  kind: Kind,
  evidence: Evidence,
  guessed: GuessedEntries & { own: OwnField[] },
): object {
  const { bases, entries } = evidence[kind];
  const { id, name, builtIn, own } = guessed;
  const fields = Object.fromEntries<unknown>([...builtIn, ...own]);
  if (entries.length === 0) return {};
  return valuesOf([
    ['base', oneOrList(bases)],
    ['filter', filterOf(kind === 'users' ? 'person' : 'group', entries)],
    ['id', id],
    ['name', oneOrList(name)],
    ['fields', Object.keys(fields).length === 0 ? null : fields],
  ]);
}

/** Without what is null. */
function valuesOf(values: readonly (readonly [key: string, value: unknown])[]): object {
  return Object.fromEntries(values.filter(([, value]) => value !== null));
}

function oneOrList<Value>(values: readonly Value[]): Value | readonly Value[] | null {
  const [first = null] = values;
  return values.length > 1 ? values : first;
}

function written(forms: RoleMapping): unknown {
  return oneOrList(forms.map(({ attributes, by }) => ({ attribute: oneOrList(attributes), by })));
}

function headOf({ server, baseDn, users, groups }: Evidence): string {
  const from = server === 'file' ? 'a file' : `a server of the kind ${server}`;
  return [
    ` A model of the directory below ${baseDn}, proposed from ${counted(users.entries.length, 'user')} and ${counted(groups.entries.length, 'group')} of ${from}.`,
    ' Check the types, remove fields that clients do not need, and set access and visibleTo where they need protection.',
    ' Then set DIRECTORY_MODEL to the file. `./directory check` reports how many entries and references it finds.',
  ].join('\n');
}

/** The attributes of the identity and of built-in fields. Null: the entries have none of the usual ones. */
interface GuessedEntries {
  readonly id: string | null;
  readonly name: readonly string[];
  readonly builtIn: readonly (readonly [field: string, attribute: string])[];
}

/** Guesses what the attributes of users or groups mean. */
function guessEntries(kind: Kind, found: Found, usual: readonly DirectoryMapping[]): GuessedEntries {
  const attributesOf = (name: string) =>
    usual.flatMap(({ [kind]: { fields } }) => fields.find((field) => field.name === name)?.attributes ?? []);
  const builtIn = mappableFields(kind).flatMap((field) => {
    const attribute = mostUsed(attributesOf(field), found);
    return attribute === null ? [] : [[field, attribute] as const];
  });
  return {
    id: mostUsed(attributesOf('id'), found),
    name: present(attributesOf('name'), found).slice(0, 2),
    builtIn,
  };
}

/** The attributes that the entries have, each once. */
function present(attributes: readonly string[], found: Found): string[] {
  return [...new Set(attributes)].filter((attribute) => found.has(attribute.toLowerCase()));
}

/** The candidate that most entries have; of several, the first. */
function mostUsed(candidates: readonly string[], found: Found): string | null {
  const countOf = (name: string) => found.get(name.toLowerCase())?.count ?? 0;
  const [best] = present(candidates, found).sort((left, right) => countOf(right) - countOf(left));
  return best ?? null;
}

/** Recognizes the attributes of groups that name members, admins and owners. */
function guessRoles(found: Found, usual: readonly DirectoryMapping[]) {
  const named = (role: 'members' | 'admins' | 'owners'): RoleMapping => {
    const forms = usual.flatMap(({ groups }) => groups[role]);
    const attributes = present(
      forms.flatMap((form) => form.attributes),
      found,
    );
    return attributes.length === 0 ? [] : [{ attributes, by: 'dn' }];
  };
  // The members of posixGroup (RFC 2307).
  const byId: RoleMapping = found.has('memberuid') ? [{ attributes: ['memberUid'], by: 'id' }] : [];
  return { members: [...named('members'), ...byId], admins: named('admins'), owners: named('owners') };
}

/** The attributes for fields of their own: those that the identity, built-in fields and roles do not use. Those in most entries are first. */
function ownAttributes(
  found: Found,
  { id, name, builtIn }: GuessedEntries,
  ofRoles: readonly string[],
): FoundAttribute[] {
  const used = [id ?? '', ...name, ...builtIn.map(([, attribute]) => attribute), ...ofRoles];
  const keys = new Set(used.map((each) => each.toLowerCase()));
  return (
    [...found.values()]
      // Values with options, such as mail;lang-fr, are values of the attribute, too.
      .filter(({ key }) => !keys.has(key) && !keys.has(key.replace(/;.*$/s, '')))
      .filter(isUsable)
      .sort((left, right) => right.count - left.count)
      .slice(0, MOST_FIELDS)
  );
}

/** A type, its reader, and the form of values that are of the type and not of a text that looks like it. */
const TYPES: readonly (readonly [ValueType, FieldReader, RegExp])[] = [
  ['Boolean', 'boolean', /^(?:TRUE|FALSE)$/],
  ['Int', 'integer', /^(?:0|-?[1-9]\d*)$/],
  // The counts of Active Directory are of the years 1917 to 2234, or mean that there is no time.
  ['DateTime', 'time', /^(?:\d{10,14}(?:[.,]\d+)?(?:Z|[+-]\d{2,4})|0|9223372036854775807|1\d{17})$/],
  ['Float', 'number', /^-?(?:0|[1-9]\d*)\.\d+$/],
  ['URL', 'url', /^[a-z][a-z0-9+.-]*:\/\/\S/i],
];

/** Attributes whose values consist of digits and are no numbers. */
const DIGITS = /phone|mobile|pager|fax|facsimile|postal|zip|isdn|x121|barcode|cardnumber|serial/;

/** Guesses the type of one value by all sampled values. */
function guessType({ key, values: found }: FoundAttribute, evidence: Evidence): ValueType {
  const values = found ?? [];
  const kinds = values.map((value) => kindOfTarget(value, evidence)).filter((kind) => kind !== null);
  const isReference = kinds.length > 0 && kinds.length >= values.length / 2;
  if (isReference && new Set(kinds).size === 1) return kinds[0] === 'person' ? 'User' : 'Group';
  const fitting = TYPES.find(([, reader, form]) =>
    values.every((value) => form.test(value) && !(parseValue({ reader }, value) instanceof Misfit)),
  );
  return DIGITS.test(key) ? 'String' : (fitting?.[0] ?? 'String');
}

/** What a DN names: a sampled entry, or one in the containers of only one kind. Null: something else. */
function kindOfTarget(value: string, { baseDn, targets, users, groups }: Evidence): EntryKind | null {
  if (!isDnBelow(value, baseDn)) return null;
  const isIn = ({ bases }: Evidence['users']) =>
    bases.some((base) => base !== '' && isDnBelow(value, `${base},${baseDn}`));
  const ofContainer = isIn(users) ? 'person' : 'group';
  return targets.get(keyOfDn(value)) ?? (isIn(users) === isIn(groups) ? null : ofContainer);
}

/** Scopes for values that not every reader of the directory needs, and the attributes in lower case. */
const SCOPES: readonly (readonly [name: string, description: string, attributes: RegExp])[] = [
  [
    'personal',
    'Personal data, such as private addresses and dates of birth.',
    /birth|gender|^sex$|salutation|national|citizen|religion|marital|social|^ssn|ahv|iban|bank|salary|tax|^home(?!directory)|private|license|passport|health|emergency|guardian/,
  ],
  [
    'contact',
    'Phone numbers and addresses.',
    /phone|mobile|pager|fax|facsimile|postal|^street|^l$|^st$|zip|city|address|mail|isdn|messenger|jabber|skype|x121/,
  ],
];

/** Names of fields for attributes whose names are abbreviations. */
const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ l: 'city', st: 'state', c: 'countryCode', co: 'country', o: 'organization' },
    ...{ ou: 'organizationalUnit', cn: 'commonName', sn: 'surname' },
  }),
);
/** Names for the other side of references. Default: the name of the field and Of. */
const REVERSES: ReadonlyMap<string, string> = new Map([
  ['manager', 'reports'],
  ['secretary', 'assists'],
  ['assistant', 'assists'],
]);

/** Attributes that servers maintain, in lower case. */
const OPERATIONAL: ReadonlySet<string> = new Set(
  [
    'objectClass structuralObjectClass subschemaSubentry hasSubordinates numSubordinates numAllSubordinates',
    'entryUUID entryCSN entryDN entryID entryUSN parentID parentUUID contextCSN nsUniqueId nsUniqueID ipaUniqueID',
    'creatorsName createTimestamp modifiersName modifyTimestamp memberOf isMemberOf tombstoneNumSubordinates',
    'aci nsRoleDN nsAccountLock nsSchemaCSN dncomp copiedFrom copyingFrom internalCreatorsName',
    // Active Directory and Samba
    'objectGUID objectSid sIDHistory objectCategory objectVersion distinguishedName canonicalName name nTSecurityDescriptor',
    'instanceType whenCreated whenChanged uSNCreated uSNChanged uSNDSALastObjRemoved dSCorePropagationData',
    'isCriticalSystemObject showInAdvancedViewOnly systemFlags adminCount sAMAccountType groupType userAccountControl',
    'primaryGroupID badPwdCount badPasswordTime lastLogon lastLogoff lastLogonTimestamp logonCount logonHours',
    'pwdLastSet codePage countryCode userParameters isDeleted isRecycled lastKnownParent replPropertyMetaData',
    'replUpToDateVector repsFrom repsTo dBCSPwd supplementalCredentials attributeCertificateAttribute',
  ].flatMap((line) => line.toLowerCase().split(' ')),
);
const MAINTAINED =
  /^(?:ds-|ds_|msds-|msexch|msrtcsip-|ms-ds-|mspki|samba(?!sid$)|shadow|nsds|pwd|passwordexp|account(?:un)?lock)/;

/** Names of credentials and of what protects an account. */
const SENSITIVE =
  /passw|passphrase|passcode|pwd|secret|credential|krb|kerberos|ntlm|lmhash|nthash|hash$|token|totp|hotp|otp|pincode|^pin$|(?:security|recovery)(?:question|answer|code)|private|cert|pkcs|(?:api|ssh|public|host|access|encryption|wrapping)-?key|challenge|secur|trustauth/;
/** Beginnings of values that are credentials: the scheme of a stored password (RFC 3112), crypt, keys, tokens. */
const CREDENTIAL = /^(?:\{[\w./-]{2,}\}\S|\$[\w-]{1,12}\$|-----BEGIN|ssh-|ecdsa-|eyJ[\w-]+\.|sk_|ghp_)/;
/** A digest, such as that of a password. */
const DIGEST = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i;

/** Whether an attribute is the value of a field: the model accepts its name, and it is neither maintained by the server, binary, nor a credential. */
function isUsable({ key, name, values }: FoundAttribute): boolean {
  const [type = key] = key.split(';');
  if (OPERATIONAL.has(type) || MAINTAINED.test(type) || SENSITIVE.test(type)) return false;
  if (!attributeName.safeParse(name).success || values === null || values.length === 0) return false;
  return !values.some((value) => CREDENTIAL.test(value)) && !values.every((value) => DIGEST.test(value));
}

/** Takes a name for a field or a connection, similar to the one that is wanted. Both kinds share them. */
type TakeName = (kind: Kind, wanted: string) => string;

function nameTaker(): TakeName {
  const taken = { users: new Set<string>(), groups: new Set<string>() };
  return (kind, wanted) => {
    const isTaken = (name: string) => taken[kind].has(name) || isReserved(kind, name);
    let name = isTaken(wanted) ? `${wanted}Value` : wanted;
    for (let number = 2; isTaken(name); number++) name = `${wanted}${number}`;
    taken[kind].add(name);
    return name;
  };
}

type OwnField = [name: string, field: CustomField];

/** Proposes a field for an attribute. */
function guessField(kind: Kind, found: FoundAttribute, evidence: Evidence, takeName: TakeName): OwnField {
  const { key, name, isMultiple } = found;
  const type = guessType(found, evidence);
  const wanted = nameOf(found);
  const field = takeName(kind, wanted);
  const access = kind === 'users' ? SCOPES.find(([, , attributes]) => attributes.test(key))?.[0] : undefined;
  const isReference = type === 'User' || type === 'Group';
  const target = `${type.toLowerCase()}${isMultiple ? 's' : ''} that ${name} names`;
  const values = isMultiple ? `values of ${name}` : labelOf(wanted);
  return [
    field,
    {
      attribute: name,
      type: isMultiple ? `[${type}!]!` : type,
      description: `${isMultiple ? 'All' : 'The'} ${isReference ? target : values}.`,
      ...(access !== undefined && { access }),
      ...(isReference && {
        reverse: takeName(type === 'User' ? 'users' : 'groups', REVERSES.get(key) ?? `${wanted}Of`),
      }),
    },
  ];
}

/** The name of a field: letters, digits and `_`, with a small letter first. */
function nameOf({ key, name }: FoundAttribute): string {
  const known = WORDS.get(key);
  if (known !== undefined) return known;
  const joined = name.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) =>
    (next ?? '').toUpperCase(),
  );
  const named = /^[A-Za-z]/.test(joined) ? joined : `attribute${joined}`;
  // The longest name that the model accepts, without the ends that make names differ.
  return `${named.charAt(0).toLowerCase()}${named.slice(1)}`.slice(0, 50);
}
