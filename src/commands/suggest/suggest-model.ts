import { Document, isMap, visit } from 'yaml';
import { ServiceError } from '../../common/errors.js';
import type { FieldReader } from '../../common/field.js';
import { buildMapping, mappableFields } from '../../config/model/build-mapping.js';
import { memberAttributesOf, type DirectoryMapping, type RoleMapping } from '../../config/model/mapping.js';
import {
  attribute as attributeName,
  type CustomField,
  type ValueType,
} from '../../config/model/model.schema.js';
import { DEFAULT_PRESET, PRESET_NAMES } from '../../config/model/presets/presets.js';
import { isReserved } from '../../config/model/read-model.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { Misfit, parseValue } from '../../mirror/map/entry-reader.js';
import { isOfDirectory } from '../../mirror/synchronizer.js';
import { type Evidence, filterOf, isDnBelow, type Progress, readEvidence } from './evidence.js';

type Kind = 'users' | 'groups';

/** The largest number of custom fields of a kind that a model may have. */
const MOST_FIELDS = 100;
/** The largest number of values of an attribute by which its type is guessed, and the longest value. */
const MOST_VALUES = 1000;
const LONGEST = 10_000;

type Found = ReturnType<typeof summarize>;

/**
 * Reads a part of a directory, without its model, and proposes a model file.
 * @throws {ServiceError} when it cannot be read, or has neither users nor groups
 */
export async function suggestFor(directory: DirectoryConfig, progress: Progress): Promise<string> {
  const evidence = await readEvidence(directory, progress).catch((error: unknown) => {
    if (isOfDirectory(error))
      throw new ServiceError('SERVICE_UNAVAILABLE', `The directory cannot be read: ${error.message}`);
    throw error;
  });
  if (evidence.users.entries.length + evidence.groups.entries.length > 0) return suggestModel(evidence);
  const cause = 'check DIRECTORY_BASE_DN and the rights of the account';
  throw new ServiceError('NOT_FOUND', `There are no users and no groups below ${directory.baseDn}: ${cause}`);
}

/** Proposes a model file for a directory (pure). It contains names of attributes, and no value of an entry. */
export function suggestModel(evidence: Evidence): string {
  const preset = PRESET_NAMES.find((name) => name === evidence.server);
  // The presets know the usual attributes. Those of the kind of the server are the first.
  const usual = [preset ?? DEFAULT_PRESET, ...PRESET_NAMES].map((name) => buildMapping({ server: name }, ''));
  const [users, groups] = [countAttributes(evidence, 'users'), countAttributes(evidence, 'groups')];
  const roles = guessRoles(groups, usual);
  const takeName = nameTaker();
  const identity = (['uuid', 'createdAt', 'modifiedAt'] as const).map((key) => {
    const candidates = usual.map((mapping) => mapping.users[key]);
    return [key, mostUsed(candidates, users)] as const;
  });
  const ofUsers = guessEntries('users', users, [], { evidence, usual, takeName });
  const document = new Document({
    ...(preset !== undefined && { server: preset }),
    // Attributes that are not found are left to the preset.
    ...valuesOf(identity),
    users: ofUsers,
    groups: {
      ...guessEntries('groups', groups, memberAttributesOf(roles), { evidence, usual, takeName }),
      ...valuesOf(Object.entries(roles).map(([role, forms]) => [role, written(forms)])),
    },
    ...(JSON.stringify(ofUsers).includes(`"access":"${PERSONAL}"`) && {
      scopes: { [PERSONAL]: 'Personal data, phone numbers and addresses.' },
    }),
  });
  document.commentBefore =
    ' Check the types, remove fields that clients do not need, and set access and visibleTo where they need protection.';
  visit(document, {
    Collection: (_key, node) => {
      if (!isMap(node) || node.has('attribute')) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** The attributes of entries by attributeKey, in this order. */
function countAttributes({ names, ...evidence }: Evidence, kind: Kind): ReadonlyMap<string, Found> {
  const { entries } = evidence[kind];
  const keys = new Set(entries.flatMap((entry) => [...entry.attributes.keys()]));
  return new Map([...keys].sort().map((key) => [key, summarize(key, entries, names)]));
}

function summarize(key: string, entries: readonly Entry[], names: Evidence['names']) {
  const having = entries.map((entry) => entry.bytes(key)).filter(({ length }) => length > 0);
  const [type = key, ...options] = key.split(';');
  return {
    key,
    /** As the directory spells it, or the key. */
    name: [names.get(type) ?? type, ...options].join(';'),
    /** The number of entries that have the attribute. */
    count: having.length,
    /** Without surrounding white space, a bounded number of them. Null: some are not text. */
    values: textsOf(having.flat()),
    isMultiple: having.some(({ length }) => length > 1),
  };
}

function textsOf(values: readonly Buffer[]): string[] | null {
  const texts = values.slice(0, MOST_VALUES).map((bytes) => decodeUtf8(bytes)?.trim() ?? null);
  const isText = (text: string | null): text is string =>
    text !== null && text.length <= LONGEST && !/[^\P{Cc}\t\r\n]/u.test(text);
  return texts.every(isText) ? texts.filter((text) => text !== '') : null;
}

/** What guesses share. */
interface Context {
  readonly evidence: Evidence;
  readonly usual: readonly DirectoryMapping[];
  readonly takeName: TakeName;
}

/** Proposes the part of the model for users or groups. @param ofRoles the attributes that name members */
function guessEntries(
  kind: Kind,
  found: ReadonlyMap<string, Found>,
  ofRoles: readonly string[],
  { evidence, usual, takeName }: Context,
): object {
  const { bases, entries } = evidence[kind];
  if (entries.length === 0) return {};
  const attributesOf = (name: string) =>
    usual.flatMap(({ [kind]: { fields } }) => fields.find((field) => field.name === name)?.attributes ?? []);
  const id = mostUsed(attributesOf('id'), found);
  const name = present(attributesOf('name'), found).slice(0, 2);
  const builtIn = mappableFields(kind).flatMap((field) => {
    const attribute = mostUsed(attributesOf(field), found);
    return attribute === null ? [] : [[field, attribute] as const];
  });
  const used = [id ?? '', ...name, ...builtIn.map(([, attribute]) => attribute), ...ofRoles];
  const keys = new Set(used.map((each) => each.toLowerCase()));
  const own = [...found.values()]
    // Values with options, such as mail;lang-fr, are values of the attribute, too.
    .filter(({ key }) => !keys.has(key) && !keys.has(key.replace(/;.*$/s, '')))
    .filter(isUsable)
    .sort((left, right) => right.count - left.count)
    .slice(0, MOST_FIELDS)
    .map((each) => guessField(kind, each, evidence, takeName));
  const fields = Object.fromEntries<unknown>([...builtIn, ...own]);
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

/** The attributes that the entries have, each once. */
function present(attributes: readonly string[], found: ReadonlyMap<string, Found>): string[] {
  return [...new Set(attributes)].filter((attribute) => found.has(attribute.toLowerCase()));
}

/** The candidate that most entries have; of several, the first. */
function mostUsed(candidates: readonly string[], found: ReadonlyMap<string, Found>): string | null {
  const countOf = (name: string) => found.get(name.toLowerCase())?.count ?? 0;
  const [best] = present(candidates, found).sort((left, right) => countOf(right) - countOf(left));
  return best ?? null;
}

/** Recognizes the attributes of groups that name members, admins and owners. */
function guessRoles(found: ReadonlyMap<string, Found>, usual: readonly DirectoryMapping[]) {
  const named = (role: 'members' | 'admins' | 'owners'): RoleMapping => {
    const known = usual.flatMap(({ groups }) => groups[role].flatMap((form) => form.attributes));
    const attributes = present(known, found);
    return attributes.length === 0 ? [] : [{ attributes, by: 'dn' }];
  };
  // The members of posixGroup (RFC 2307).
  const byId: RoleMapping = found.has('memberuid') ? [{ attributes: ['memberUid'], by: 'id' }] : [];
  return { members: [...named('members'), ...byId], admins: named('admins'), owners: named('owners') };
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
function guessType({ key, values: found }: Found, { baseDn, users, groups }: Evidence): ValueType {
  const values = found ?? [];
  const isIn = ({ bases }: Evidence['users'], value: string) =>
    bases.some((base) => base !== '' && isDnBelow(value, `${base},${baseDn}`));
  // Sampled entries, and those in the containers of only one kind.
  const kindOf = (value: string) => {
    if (!isDnBelow(value, baseDn)) return null;
    const [isUser, isGroup] = [users.keys.has(keyOfDn(value)), groups.keys.has(keyOfDn(value))];
    if (isUser || isGroup) return isUser ? 'User' : 'Group';
    const isBelowUsers = isIn(users, value);
    return isBelowUsers === isIn(groups, value) ? null : isBelowUsers ? 'User' : 'Group';
  };
  const kinds = values.map(kindOf).filter((kind) => kind !== null);
  const [first] = kinds;
  if (first !== undefined && kinds.length * 2 >= values.length && new Set(kinds).size === 1) return first;
  const fitting = TYPES.find(([, reader, form]) =>
    values.every((value) => form.test(value) && !(parseValue({ reader }, value) instanceof Misfit)),
  );
  return DIGITS.test(key) ? 'String' : (fitting?.[0] ?? 'String');
}
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
function isUsable({ key, name, values }: Found): boolean {
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

/** A scope for values that not every reader of the directory needs, and the attributes in lower case. */
const PERSONAL = 'personal';
const OF_PERSONS =
  /birth|gender|^sex$|salutation|national|citizen|religion|marital|social|^ssn|ahv|iban|bank|salary|tax|^home(?!directory)|private|license|passport|health|emergency|guardian|phone|mobile|pager|fax|facsimile|postal|^street|^l$|^st$|zip|city|address|mail|isdn|messenger|jabber|skype|x121/;

/** Proposes a field for an attribute. */
function guessField(kind: Kind, found: Found, evidence: Evidence, takeName: TakeName): [string, CustomField] {
  const { key, name, isMultiple } = found;
  const type = guessType(found, evidence);
  const wanted = nameOf(name);
  const reverse = key === 'manager' ? 'reports' : `${wanted}Of`;
  const field = takeName(kind, wanted);
  return [
    field,
    {
      attribute: name,
      type: isMultiple ? `[${type}!]!` : type,
      description: `The value of ${name}.`,
      ...(kind === 'users' && OF_PERSONS.test(key) && { access: PERSONAL }),
      ...(type === 'User' && { reverse: takeName('users', reverse) }),
      ...(type === 'Group' && { reverse: takeName('groups', reverse) }),
    },
  ];
}

/** The name of a field: letters, digits and `_`, with a small letter first. */
function nameOf(name: string): string {
  const joined = name.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) =>
    (next ?? '').toUpperCase(),
  );
  const named = /^[A-Za-z]/.test(joined) ? joined : `attribute${joined}`;
  // The longest name that the model accepts, without the ends that make names differ.
  return `${named.charAt(0).toLowerCase()}${named.slice(1)}`.slice(0, 50);
}
