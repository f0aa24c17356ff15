import type { FieldReader } from '../../common/field.js';
import { labelOf, mappableFields } from '../../config/model/build-mapping.js';
import { isReserved } from '../../config/model/read-model.js';
import type { RoleMapping } from '../../config/model/mapping.js';
import {
  type CustomField,
  type ValueType,
  attribute as attributeName,
} from '../../config/model/model.schema.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { Misfit, parseValue } from '../../mirror/map/entry-reader.js';
import type { EntryKind } from '../../sources/directory.js';
import {
  CREATED,
  DISABLED,
  type Evidence,
  type FoundAttribute,
  isDnBelow,
  MODIFIED,
  UUIDS,
} from './evidence.js';

export type Kind = 'users' | 'groups';
type Found = ReadonlyMap<string, FoundAttribute>;

/** Attributes of which one has the id. Each entry needs one. */
const IDS: Readonly<Record<Kind, readonly string[]>> = {
  users: ['uid', 'sAMAccountName', 'cn'],
  groups: ['cn', 'sAMAccountName', 'uid'],
};
const NAMES: readonly string[] = ['displayName', 'cn', 'name', 'gecos'];
/** Attributes of built-in fields, the usual one first. */
const BUILT_IN: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  users: {
    givenName: ['givenName', 'gn'],
    familyName: ['sn', 'surname'],
    email: ['mail', 'rfc822Mailbox', 'mailPrimaryAddress'],
    schoolYear: ['schoolYear'],
    photo: ['jpegPhoto', 'thumbnailPhoto'],
    picture: ['profilePicture'],
  },
  groups: {
    description: ['description'],
    website: ['labeledURI', 'wWWHomePage', 'url'],
    email: ['mail', 'mailPrimaryAddress'],
  },
};

/** The attributes of the identity and of built-in fields. Null: the entries have none of the usual ones. */
export interface GuessedEntries {
  readonly id: string | null;
  readonly name: readonly string[];
  readonly builtIn: ReadonlyMap<string, string>;
  readonly disabled: string | null;
}

/** Guesses what the attributes of users or groups mean (pure). */
export function guessEntries(kind: Kind, found: Found): GuessedEntries {
  const builtIn = mappableFields(kind).flatMap((field) => {
    const attribute = mostUsed(BUILT_IN[kind][field] ?? [], found);
    return attribute === null ? [] : [[field, attribute] as const];
  });
  const locked = DISABLED.find(([name]) => found.has(name.toLowerCase()));
  return {
    id: mostUsed(IDS[kind], found),
    name: NAMES.filter((name) => found.has(name.toLowerCase())).slice(0, 2),
    builtIn: new Map(builtIn),
    disabled: kind === 'users' ? (locked?.[1] ?? null) : null,
  };
}

/**
 * The attributes with the identity and the times of all entries (pure).
 * @param identity the attribute that the preset of the server uses
 */
export function guessOperational(found: Found, identity: string) {
  return {
    uuid: mostUsed([identity, ...UUIDS], found),
    createdAt: mostUsed(CREATED, found),
    modifiedAt: mostUsed(MODIFIED, found),
  };
}

/** The candidate that most entries have; of several, the first. */
function mostUsed(candidates: readonly string[], found: Found): string | null {
  const countOf = (name: string) => found.get(name.toLowerCase())?.count ?? 0;
  const [best] = [...candidates].sort((left, right) => countOf(right) - countOf(left));
  return best === undefined || countOf(best) === 0 ? null : best;
}

/** Recognizes the attributes of groups that name members, admins and owners (pure). */
export function guessRoles(found: Found) {
  const named = (by: 'dn' | 'id', ...names: string[]): RoleMapping => {
    const attributes = names.filter((name) => found.has(name.toLowerCase()));
    return attributes.length === 0 ? [] : [{ attributes, by }];
  };
  return {
    members: [...named('dn', 'member', 'uniqueMember'), ...named('id', 'memberUid')],
    admins: named('dn', 'groupAdmin'),
    owners: named('dn', 'owner', 'managedBy'),
  };
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

/** Guesses the type of one value by all sampled values (pure). */
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

/** Whether an attribute is the value of a field: the model accepts its name, and it is neither maintained by the server, binary, nor a credential (pure). */
export function isUsable({ key, name, values }: FoundAttribute): boolean {
  const [type = key] = key.split(';');
  if (OPERATIONAL.has(type) || MAINTAINED.test(type) || SENSITIVE.test(type)) return false;
  if (!attributeName.safeParse(name).success || values === null || values.length === 0) return false;
  return !values.some((value) => CREDENTIAL.test(value)) && !values.every((value) => DIGEST.test(value));
}

/** Takes a name for a field or a connection, similar to the one that is wanted. Both kinds share them. */
export type TakeName = (kind: Kind, wanted: string) => string;

export function nameTaker(): TakeName {
  const taken = { users: new Set<string>(), groups: new Set<string>() };
  return (kind, wanted) => {
    const others = Array.from({ length: 200 }, (_, index) => `${wanted}${index + 2}`);
    const isFree = (name: string) => !taken[kind].has(name) && !isReserved(kind, name);
    const name = [wanted, `${wanted}Value`, ...others].find(isFree) ?? wanted;
    taken[kind].add(name);
    return name;
  };
}

/** Proposes a field for an attribute (pure). */
export function guessField(
  kind: Kind,
  found: FoundAttribute,
  evidence: Evidence,
  takeName: TakeName,
): [name: string, field: CustomField] {
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

/** The scopes that fields need, with their descriptions. */
export function scopesOf(fields: readonly CustomField[]): Record<string, string> {
  const used = new Set(fields.map(({ access }) => access));
  return Object.fromEntries(SCOPES.filter(([name]) => used.has(name)).map(([name, text]) => [name, text]));
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
