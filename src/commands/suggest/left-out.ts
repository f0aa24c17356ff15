import type { FoundAttribute } from './evidence.js';

/** Attributes that servers maintain, in lower case, also where the directory publishes no types. */
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

/** Whether an attribute is not the value of a field: it is maintained by the server, binary, or a credential (pure). */
export function isLeftOut(found: FoundAttribute): boolean {
  const name = found.key.split(';')[0] ?? found.key;
  const isMaintained = found.type?.isOperational === true || OPERATIONAL.has(name) || MAINTAINED.test(name);
  return isMaintained || SENSITIVE.test(name) || !hasUsableValues(found);
}

function hasUsableValues({ type, values }: FoundAttribute): boolean {
  if (values === null || values.length === 0 || BINARY.has(type?.syntax ?? '')) return false;
  return !values.some((value) => CREDENTIAL.test(value)) && !values.every((value) => DIGEST.test(value));
}
