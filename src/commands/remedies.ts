import type { Finding } from '../common/finding.js';

/** Remedies of one check by what has caused its failure. */
type ByCause = Readonly<Partial<Record<string, string>>>;

const MAY_READ =
  'Let the account read them. For slapd: access to * by dn.exact="DIRECTORY_BIND_DN" read by * break (docs/ldap.md)';
const IF_THEY_EXIST = MAY_READ.replace('Let', 'If they exist, let');
const ANONYMOUS =
  'Set DIRECTORY_BIND_DN and DIRECTORY_BIND_PASSWORD: the server accepts no anonymous clients';
const WITH_TLS = 'Set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';
const NO_TLS_ON_PORT = `The port may be for LDAP without TLS: set a DIRECTORY_URL that begins with ldap:// with DIRECTORY_STARTTLS=true, or the port of ldaps (636)`;
const LIMIT = 'Set the limit of the account as the message says, and run check again: docs/ldap.md';

/** Remedies of failures of TLS, for the settings of an address and of its authorities. */
function ofCertificates(address: string, authorities: string): ByCause {
  const untrusted = `Set ${authorities} to the certificate (PEM) of the authority that signed that of the server`;
  return {
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
    UNABLE_TO_GET_ISSUER_CERT: untrusted,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
    SELF_SIGNED_CERT_IN_CHAIN: untrusted,
    DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
    CERT_HAS_EXPIRED: 'Renew the certificate of the server',
    CERT_NOT_YET_VALID: 'Correct the clock of this machine, or the certificate of the server',
    ERR_TLS_CERT_ALTNAME_INVALID: `Set ${address} to a name that the certificate of the server has, or give it a certificate for this name`,
  };
}

/** Remedies of failures to connect to a server that the setting names. */
function ofConnections(address: string, server: string): ByCause {
  const unreachable = `Check the address in ${address}, the network, and the firewalls between this machine and the server`;
  return {
    ENOTFOUND: `Correct the host name in ${address}: no address is known for it`,
    EAI_AGAIN: `Check the name servers of this machine, which do not answer, and the host name in ${address}`,
    ECONNREFUSED: `Start the ${server}, or correct the port in ${address}: nothing accepts connections there`,
    EHOSTUNREACH: unreachable,
    ENETUNREACH: unreachable,
    ETIMEDOUT: unreachable,
    LdapTimeoutError: unreachable,
  };
}

const OF_ENTRIES: ByCause = {
  sizeLimitExceeded: LIMIT,
  timeLimitExceeded: LIMIT,
  adminLimitExceeded: LIMIT,
  insufficientAccessRights: MAY_READ,
  inappropriateAuthentication: ANONYMOUS,
  NONE: `Choose them by bases and filter of the model file (docs/model.md). ${IF_THEY_EXIST}`,
};

const CAUSES: Readonly<Partial<Record<string, ByCause>>> = {
  'directory server': {
    ...ofConnections('DIRECTORY_URL', 'directory server'),
    ...ofCertificates('DIRECTORY_URL', 'DIRECTORY_CA_FILE'),
    StartTlsRefusedError:
      'Give the server a certificate (slapd: TLSCertificateFile), or, if it has one for ldaps, set a DIRECTORY_URL that begins with ldaps:// without DIRECTORY_STARTTLS',
    LdapProtocolError:
      'The port may be of another protocol, such as HTTP: correct it in DIRECTORY_URL (389, or 636 with ldaps://)',
    LdapClosedError:
      'The port may be for ldaps (636): set a DIRECTORY_URL that begins with ldaps://, or the port of ldap (389)',
    ECONNRESET: NO_TLS_ON_PORT,
    ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS_ON_PORT,
    ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS_ON_PORT,
  },
  'directory account': {
    invalidCredentials:
      'Correct DIRECTORY_BIND_DN or DIRECTORY_BIND_PASSWORD. To try them: ldapwhoami -x -H DIRECTORY_URL -D DIRECTORY_BIND_DN -W, with -ZZ if DIRECTORY_STARTTLS is set',
    strongerAuthRequired: WITH_TLS,
    confidentialityRequired: WITH_TLS,
    inappropriateAuthentication: ANONYMOUS,
    unwillingToPerform: ANONYMOUS,
  },
  users: OF_ENTRIES,
  groups: OF_ENTRIES,
  members: OF_ENTRIES,
  'identity provider': {
    ...ofConnections('AUTH_URL', 'identity provider'),
    ...ofCertificates('AUTH_URL', 'AUTH_CA_FILE'),
  },
  introspection: ofCertificates('AUTH_INTROSPECTION_URL', 'AUTH_CA_FILE'),
  database: {
    ...ofConnections('DATABASE_URL', 'PostgreSQL server'),
    '28P01': 'Correct the user or the password in DATABASE_URL',
    '28000': 'Correct the user in DATABASE_URL, or let pg_hba.conf of PostgreSQL admit this machine',
    '3D000': 'Create the database: create database NAME owner ROLE (docs/install.md)',
    '42501': 'Make the role the owner of the database: alter database NAME owner to ROLE',
  },
};

/** Remedies by the beginning of the name of the failed check, where the cause decides nothing. */
const FIXES: Readonly<Record<string, string>> = {
  settings:
    'Correct the variable, its line in .env, or the model file: docs/settings.md and docs/model.md describe them',
  'trusted documents':
    'Create the file of TRUSTED_DOCUMENTS again, with the schema that `./directory schema` prints',
  'directory file': 'Set DIRECTORY_URL to a whole LDIF file that this user may read',
  'directory password': WITH_TLS,
  'directory account': 'Check that DIRECTORY_BIND_DN and its password belong to an account with read access',
  'directory bases': `Set DIRECTORY_BASE_DN, and the bases of the model file, to existing entries. ${IF_THEY_EXIST}`,
  'directory server':
    'Check that the server of DIRECTORY_URL is reachable from here, and that DIRECTORY_CA_FILE has the authority that signed its certificate',
  fields: 'docs/model.md describes the model file: check the attribute, and the rights of the account',
  filters: 'Write the name of the attribute as the entries have it, and check the rights of the account',
  users: 'docs/ldap.md describes the rights and limits of the account, and docs/model.md the mapping',
  groups: 'docs/ldap.md describes the rights and limits of the account, and docs/model.md the mapping',
  members: 'docs/ldap.md describes the forms of members, and the rights and limits of each kind of server',
  references:
    'Check that the bases and filters select all users and groups that groups name, and that the account may read them. Remove the DNs of deleted entries',
  changes: 'docs/ldap.md describes the overlay syncprov, which reports changes',
  'database password':
    'Add ?sslmode=verify-full to DATABASE_URL, and &sslrootcert=FILE with a private certificate authority',
  database:
    'Check that DATABASE_URL names a running server, a separate database, and a role that may create tables in it',
  'reader endpoint':
    'Check that DATABASE_READ_URL leads to a standby of the server of DATABASE_URL, or remove the setting',
  mirror: 'Run `./directory sync --dry-run`, which prints the plan of a run or the reason of its failure',
  clock: 'Synchronize the clocks of both machines with the same servers (NTP)',
  'service accounts':
    'Extend it: `./directory service-account update ID --expires 90d`. Or replace it by another account before then',
  webhook: 'Correct the receiver: docs/clients.md describes what it answers, and how it continues',
  Redis:
    'Check that REDIS_URL names a running server and its password, and REDIS_CA_FILE the authority of its certificate',
  'clients of': 'Correct the file that AUTH_EMBEDDED_CLIENTS names',
  'encryption of the identity provider':
    'Set AUTH_URL and AUTH_INTROSPECTION_URL to the https URLs of the identity provider',
  'identity provider':
    'Check that AUTH_URL equals the issuer in the metadata of the identity provider, and that it is reachable from here',
  introspection:
    'See that AUTH_INTROSPECTION_CLIENT_ID and its secret are of a client that may introspect, and AUTH_INTROSPECTION_URL is where',
  token: 'docs/identity-providers.md describes the settings for the tokens of each provider (AUTH_PROVIDER)',
  'signing keys': 'Set URL_SIGNING_KEYS to what `openssl rand -hex 32` prints',
};

/** What an operator does about a finding; null if nothing is known. */
export function fixFor({ what, cause }: Finding): string | null {
  const general = Object.entries(FIXES).find(([beginning]) => what.startsWith(beginning));
  return CAUSES[what]?.[cause ?? ''] ?? general?.[1] ?? null;
}
