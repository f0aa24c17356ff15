/** Remedies by the beginning of the name of the failed check. */
const FIXES: readonly [what: string, fix: string][] = [
  ['settings', 'Correct the variable, or its line in .env. docs/settings.md describes each setting'],
  ['directory file', 'Set DIRECTORY_URL to a whole LDIF file that this user may read'],
  ['directory password', 'Set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://'],
  [
    'directory account',
    'Check that DIRECTORY_BIND_DN and its password belong to an account with read access',
  ],
  [
    'directory bases',
    'Set DIRECTORY_BASE_DN and the bases below it to existing entries that the account may read',
  ],
  [
    'directory server',
    'Check that the server of DIRECTORY_URL is reachable from here, and that DIRECTORY_CA_FILE has the ' +
      'authority that signed its certificate',
  ],
  ['fields', 'docs/model.md describes the model file: check the attribute, and the rights of the account'],
  ['people', 'docs/ldap.md describes the rights and limits of the account, and docs/model.md the mapping'],
  ['groups', 'docs/ldap.md describes the rights and limits of the account, and docs/model.md the mapping'],
  [
    'members',
    'docs/ldap.md describes the forms of members, and the rights and limits of each kind of server',
  ],
  [
    'references',
    'Check that the bases and filters select all people and groups that groups name, and that the account may ' +
      'read them. Remove the DNs of deleted entries',
  ],
  ['changes', 'docs/ldap.md describes the overlay syncprov, which reports changes'],
  [
    'database',
    'Check that DATABASE_URL names a running server, a separate database, and a role that may create tables in it',
  ],
  [
    'read replica',
    'Check that DATABASE_REPLICA_URLS names replicas of the server of DATABASE_URL, or remove the setting',
  ],
  ['mirror', 'Run `directory sync --dry-run`, which prints the plan of a run or the reason of its failure'],
  ['reconciliation', 'Check that the service runs and reaches the directory. Its log has the reason'],
  ['clock', 'Synchronize the clocks of both machines with the same servers (NTP)'],
  [
    'service accounts',
    'Create a successor with `directory service-account create`, and replace the token before then',
  ],
  ['Redis', 'Check that REDIS_URL names a running server and its password'],
  ['clients of', 'Correct the file that AUTH_EMBEDDED_CLIENTS names'],
  [
    'encryption of the identity provider',
    'Set AUTH_URL and AUTH_INTROSPECTION_URL to the https URLs of the identity provider',
  ],
  [
    'identity provider',
    'Check that AUTH_URL equals the issuer in the metadata of the identity provider, and that it is reachable ' +
      'from here',
  ],
  [
    'introspection',
    'See that AUTH_INTROSPECTION_CLIENT_ID and its secret are of a client that may introspect, and AUTH_INTROSPECTION_URL is where',
  ],
  ['signing keys', 'Set URL_SIGNING_KEYS to what `openssl rand -hex 32` prints'],
];

export function fixFor(what: string): string | null {
  return FIXES.find(([beginning]) => what.startsWith(beginning))?.[1] ?? null;
}
