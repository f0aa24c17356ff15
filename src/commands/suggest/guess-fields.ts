import type { Match } from '../../common/match.js';
import {
  type CustomField,
  type ValueType,
  attribute as attributeName,
} from '../../config/model/model.schema.js';
import { isReserved } from '../../config/model/check-model.js';
import { labelOf, matchIn } from '../../config/model/build-mapping.js';
import type { Evidence, FoundAttribute } from './evidence.js';
import { guessType } from './guess-type.js';

type Kind = 'users' | 'groups';

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
    l: 'city',
    st: 'state',
    c: 'countryCode',
    co: 'country',
    o: 'organization',
    ou: 'organizationalUnit',
    cn: 'commonName',
    sn: 'surname',
  }),
);
/** Names for the other side of references. Default: the name of the field and Of. */
const REVERSES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    manager: 'reports',
    secretary: 'assists',
    assistant: 'assists',
  }),
);

/** Attributes that servers maintain, in lower case, even where the directory publishes no types. */
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

/** Syntaxes whose values are not text (RFC 4517 §3.3, RFC 2252 §4.3.2, [MS-ADTS] 3.1.1.2.2.2). */
const BINARY: ReadonlySet<string> = new Set([
  ...['4', '5', '8', '9', '10', '23', '28', '40', '49'].map((each) => `1.3.6.1.4.1.1466.115.121.1.${each}`),
  '1.2.840.113556.1.4.907',
]);

/** A field of the suggested model, and in how many entries it is. */
export interface SuggestedField {
  readonly name: string;
  readonly field: CustomField;
  readonly count: number;
}

/** The names of fields and connections that are taken, which the fields of both kinds share. */
export class FieldNames {
  private readonly taken: Readonly<Record<Kind, Set<string>>> = { users: new Set(), groups: new Set() };

  /** Returns a name that is not taken, similar to the one that is wanted, and takes it. */
  take(kind: Kind, wanted: string): string {
    const candidates = [
      wanted,
      `${wanted}Value`,
      ...Array.from({ length: 200 }, (_, index) => `${wanted}${index + 2}`),
    ];
    const isFree = (name: string) => !this.taken[kind].has(name) && !isReserved(kind, name);
    const name = candidates.find(isFree) ?? wanted;
    this.taken[kind].add(name);
    return name;
  }
}

/** Proposes a field for each attribute that is not used otherwise, those in most entries first (pure). */
export function guessFields(
  kind: Kind,
  found: readonly FoundAttribute[],
  evidence: Evidence,
  names: FieldNames,
): SuggestedField[] {
  const proposed = found.filter((each) => !isLeftOut(each)).sort((left, right) => right.count - left.count);
  return proposed.map((attribute) => ({
    name: names.take(kind, nameOf(attribute)),
    field: fieldOf(kind, attribute, guessType(attribute, evidence), names),
    count: attribute.count,
  }));
}

/** Whether an attribute is not the value of a field: the model rejects its name, or it is maintained by the server, binary, or a credential (pure). */
function isLeftOut(found: FoundAttribute): boolean {
  if (!attributeName.safeParse(found.name).success) return true;
  const name = found.key.split(';')[0] ?? found.key;
  const isMaintained = found.type?.isOperational === true || OPERATIONAL.has(name) || MAINTAINED.test(name);
  return isMaintained || SENSITIVE.test(name) || !hasUsableValues(found);
}

function hasUsableValues({ type, values }: FoundAttribute): boolean {
  if (values === null || values.length === 0 || BINARY.has(type?.syntax ?? '')) return false;
  return !values.some((value) => CREDENTIAL.test(value)) && !values.every((value) => DIGEST.test(value));
}

function fieldOf(kind: Kind, found: FoundAttribute, type: ValueType, names: FieldNames): CustomField {
  const { key, name, isMultiple } = found;
  const access = kind === 'users' ? SCOPES.find(([, , attributes]) => attributes.test(key))?.[0] : undefined;
  return {
    attribute: name,
    type: isMultiple ? `[${type}!]!` : type,
    description: descriptionOf(found, type),
    ...(isMultiple || type !== 'String' ? {} : otherMatch(found)),
    ...(access !== undefined && { access }),
    ...((type === 'User' || type === 'Group') && {
      reverse: names.take(type === 'User' ? 'users' : 'groups', REVERSES.get(key) ?? `${nameOf(found)}Of`),
    }),
  };
}

const RULE = /^(caseIgnore|caseExact|telephoneNumber|integer)(?:IA5)?Match$/;

/** How the directory compares the values, if it says so and the model assumes something else. */
function otherMatch({ name, type }: FoundAttribute): Pick<CustomField, 'match'> {
  const rule = RULE.exec(type?.equality ?? '')?.[1] as Match | 'telephoneNumber' | undefined;
  const match = rule === 'telephoneNumber' ? 'phone' : rule;
  return match === undefined || match === matchIn({ type: 'String', attribute: name }) ? {} : { match };
}

function descriptionOf(found: FoundAttribute, type: ValueType): string {
  const { name, isMultiple } = found;
  const isReference = type === 'User' || type === 'Group';
  if (isMultiple)
    return `All ${isReference ? `${type.toLowerCase()}s that ${name} names` : `values of ${name}`}.`;
  return `The ${isReference ? `${type.toLowerCase()} that ${name} names` : labelOf(nameOf(found))}.`;
}

/** The scopes that fields need, with their descriptions. */
export function scopesOfFields(fields: readonly SuggestedField[]): Record<string, string> {
  const used = new Set(fields.map(({ field }) => field.access));
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
