/** Attributes that hold credentials, each with its OID, because requests may name it by either (RFC 4512 §2.5). */
const CREDENTIALS: Readonly<Record<string, string>> = {
  // RFC 4519, 2798, 3112
  userPassword: '2.5.4.35',
  userPKCS12: '2.16.840.1.113730.3.1.216',
  authPassword: '1.3.6.1.4.1.4203.1.3.4',
  // Password policies: draft-behera-ldap-password-policy, 389 Directory Server
  pwdHistory: '1.3.6.1.4.1.42.2.27.8.1.20',
  passwordHistory: '2.16.840.1.113730.3.1.96',
  // Active Directory: [MS-ADA1], [MS-ADA2] and [MS-ADA3], and Microsoft LAPS
  unicodePwd: '1.2.840.113556.1.4.90',
  dBCSPwd: '1.2.840.113556.1.4.55',
  ntPwdHistory: '1.2.840.113556.1.4.94',
  lmPwdHistory: '1.2.840.113556.1.4.160',
  supplementalCredentials: '1.2.840.113556.1.4.125',
  'ms-Mcs-AdmPwd': '1.2.840.113556.1.8000.2554.50051.45980.28112.18903.35903.6685103.1224907.2.1',
  'msLAPS-Password': '1.2.840.113556.1.6.44.1.2',
  'msLAPS-EncryptedPassword': '1.2.840.113556.1.6.44.1.3',
  'msLAPS-EncryptedPasswordHistory': '1.2.840.113556.1.6.44.1.4',
  'msLAPS-EncryptedDSRMPassword': '1.2.840.113556.1.6.44.1.5',
  'msLAPS-EncryptedDSRMPasswordHistory': '1.2.840.113556.1.6.44.1.6',
  // Samba
  sambaLMPassword: '1.3.6.1.4.1.7165.2.1.24',
  sambaNTPassword: '1.3.6.1.4.1.7165.2.1.25',
  sambaPasswordHistory: '1.3.6.1.4.1.7165.2.1.54',
  sambaClearTextPassword: '1.3.6.1.4.1.7165.2.1.68',
  // MIT Kerberos, FreeIPA
  krbPrincipalKey: '2.16.840.1.113719.1.301.4.39.1',
  krbPwdHistory: '2.16.840.1.113719.1.301.4.44.1',
  krbExtraData: '2.16.840.1.113719.1.301.4.51.1',
  ipaNTHash: '2.16.840.1.113730.3.8.11.5',
};

const NAMES = new Set(Object.entries(CREDENTIALS).join().toLowerCase().split(','));

/** @param attribute its name or OID, possibly with options */
export function isCredential(attribute: string): boolean {
  return NAMES.has(attribute.toLowerCase().replace(/;.*$/, ''));
}
