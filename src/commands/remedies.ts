import type { Finding } from '../common/finding.js';

const MAY_READ =
  'Let the account read them. For slapd: access to * by dn.exact="DIRECTORY_BIND_DN" read by * break (docs/ldap.md)';
const IF_THEY_EXIST = MAY_READ.replace('Let', 'If they exist, let');
const ANONYMOUS =
  'Set DIRECTORY_BIND_DN and DIRECTORY_BIND_PASSWORD: the server accepts no anonymous clients';
const WITH_TLS = 'Set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';
const NO_TLS_ON_PORT = `The port may be for LDAP without TLS: set a DIRECTORY_URL that begins with ldap:// with DIRECTORY_STARTTLS=true, or the port of ldaps (636)`;
const LIMIT = 'Set the limit of the account as the message says, and run check again: docs/ldap.md';
const OF_ENTRIES: Readonly<Record<string, string>> = {
  sizeLimitExceeded: LIMIT,
  timeLimitExceeded: LIMIT,
  adminLimitExceeded: LIMIT,
  insufficientAccessRights: MAY_READ,
  inappropriateAuthentication: ANONYMOUS,
  NONE: `Choose them by bases and filter of the model file (docs/model.md). ${IF_THEY_EXIST}`,
};

/** What to do about a failed check, by its cause. */
const BY_CAUSE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'directory server': {
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
  database: {
    '28P01': 'Correct the user or the password in DATABASE_URL',
    '28000': 'Correct the user in DATABASE_URL, or let pg_hba.conf of PostgreSQL admit this machine',
    '3D000': 'Create the database: create database NAME owner ROLE (docs/install.md)',
    '42501': 'Make the role the owner of the database: alter database NAME owner to ROLE',
  },
};

/** The settings of the address of a server, and of the authorities of its certificate. */
const SERVERS: Readonly<Record<string, readonly [address: string, authorities: string]>> = {
  'directory server': ['DIRECTORY_URL', 'DIRECTORY_CA_FILE'],
  'identity provider': ['AUTH_URL', 'AUTH_CA_FILE'],
  introspection: ['AUTH_INTROSPECTION_URL', 'AUTH_CA_FILE'],
  database: ['DATABASE_URL', 'sslrootcert in DATABASE_URL'],
};

/** What to do about a failed connection, by the beginning of the code of Node.js or OpenSSL. */
function fixOfConnection(server: string, cause: string): string | undefined {
  const [address, authorities] = SERVERS[server] ?? [];
  if (address === undefined || authorities === undefined) return undefined;
  const untrusted = `Set ${authorities} to the certificate (PEM) of the authority that signed that of the server`;
  const unreachable = `Check the address in ${address}, the network, and the firewalls between this machine and the server`;
  const fixes: Readonly<Record<string, string>> = {
    UNABLE_TO_: untrusted,
    SELF_SIGNED_: untrusted,
    DEPTH_ZERO_: untrusted,
    CERT_HAS_EXPIRED: 'Renew the certificate of the server',
    CERT_NOT_YET_VALID: 'Correct the clock of this machine, or the certificate of the server',
    ERR_TLS_CERT_ALTNAME: `Set ${address} to a name that the certificate of the server has, or give it a certificate for this name`,
    ENOTFOUND: `Correct the host name in ${address}: no address is known for it`,
    EAI_AGAIN: `Check the name servers of this machine, which do not answer, and the host name in ${address}`,
    ECONNREFUSED: `Start the ${server}, or correct the port in ${address}: nothing accepts connections there`,
    EHOSTUNREACH: unreachable,
    ENETUNREACH: unreachable,
    ETIMEDOUT: unreachable,
    LdapTimeoutError: unreachable,
  };
  return Object.entries(fixes).find(([beginning]) => cause.startsWith(beginning))?.[1];
}

/** What to do by the beginning of the name of the failed check, where the cause decides nothing. */
const GENERAL: Readonly<Record<string, string>> = {
  settings: 'Correct the variable, its line in .env, or the model file: docs/settings.md, docs/model.md',
  'trusted documents': 'Create the file of TRUSTED_DOCUMENTS again, for what `./directory schema` prints',
  'directory file': 'Set DIRECTORY_URL to a whole LDIF file that this user may read',
  'directory password': WITH_TLS,
  'directory account': 'Set DIRECTORY_BIND_DN and its password to those of an account with read access',
  'directory bases': `Set DIRECTORY_BASE_DN, and the bases of the model file, to existing entries. ${IF_THEY_EXIST}`,
  'directory server': 'Check that the servers of DIRECTORY_URL are reachable from here, and are replicas',
  'database password': 'Add ?sslmode=verify-full to DATABASE_URL, and &sslrootcert=FILE with the authority',
  database: 'Set DATABASE_URL to a running server, a separate database, and a role that may create tables',
  'reader endpoint': 'Let DATABASE_READ_URL lead to a standby of the server of DATABASE_URL, or remove it',
  mirror: 'Run `./directory sync --dry-run`, which prints the plan of a run or the reason of its failure',
  'service accounts': 'Extend it: `./directory service-account update ID --expires 90d`',
  webhook: 'Correct the receiver: docs/clients.md describes what it answers, and how it continues',
  Redis: 'Check that REDIS_URL names a running server and its password, and REDIS_CA_FILE its authority',
  'clients of': 'Correct the file that AUTH_EMBEDDED_CLIENTS names',
  encryption: 'Set AUTH_URL and AUTH_INTROSPECTION_URL to the https URLs of the identity provider',
  'identity provider': 'Check that AUTH_URL equals the issuer in its metadata, and is reachable from here',
  introspection: 'Set AUTH_INTROSPECTION_CLIENT_ID and its secret to those of a client that may introspect',
  token: 'docs/identity-providers.md describes the settings for each provider (AUTH_PROVIDER)',
};
/** For the rights, the limits and the mapping of what the directory has. */
const OTHERWISE =
  'docs/ldap.md describes the rights and limits of the account, and docs/model.md the model file';

/** What an operator does about a finding. */
export function fixFor({ what, cause = '' }: Finding): string {
  const general = Object.entries(GENERAL).find(([beginning]) => what.startsWith(beginning));
  return BY_CAUSE[what]?.[cause] ?? fixOfConnection(what, cause) ?? general?.[1] ?? OTHERWISE;
}
