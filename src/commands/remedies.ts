/** Remedies by the beginning of the name of the failed check. */
const FIXES: readonly [what: string, fix: string][] = [
  ['settings', 'Correct the variable, or its line in .env. docs/settings.md describes each setting'],
  ['directory file', 'Set DIRECTORY_URL to a whole LDIF file that this user may read'],
  ['directory settings', 'Correct the filters and bases of the directory. docs/settings.md describes them'],
  ['directory password', 'Set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://'],
  ['directory account', 'See that DIRECTORY_BIND_DN and its password are of an account that may read'],
  [
    'directory bases',
    'Set DIRECTORY_BASE_DN and the bases below it to what is there, or let the account see it',
  ],
  [
    'directory server',
    'See that DIRECTORY_URL names a server that can be reached from here, and DIRECTORY_CA_FILE who signed its certificate',
  ],
  ['people', 'docs/directory.md describes the rights and limits of the account and the mapping'],
  ['groups', 'docs/directory.md describes the rights and limits of the account and the mapping'],
  ['members', 'docs/directory.md describes the rights and limits of the account and the mapping'],
  [
    'references',
    'See that the bases and filters choose all people and groups that groups name, and that the account may see them; remove DNs of entries that have gone',
  ],
  ['changes', 'docs/directory.md describes the overlay syncprov, which reports changes'],
  [
    'database',
    'See that DATABASE_URL names a server that runs, a database of its own, and a user who may make tables in it',
  ],
  [
    'read replica',
    'See that DATABASE_REPLICA_URLS names replicas of the server of DATABASE_URL, or take it out',
  ],
  ['mirror', '`directory sync --dry-run` shows what a run would do, and says why when it cannot'],
  ['reconciliation', 'See that the service runs and reaches the directory: its log has the reason'],
  ['clock', 'Let both machines take their time from the same servers (NTP)'],
  ['service accounts', '`directory service-account create` makes one to go over to before then'],
  ['Redis', 'See that REDIS_URL names a server that runs, and its password'],
  ['clients of', 'Mend the file that AUTH_EMBEDDED_CLIENTS names'],
  [
    'encryption of the identity provider',
    'Give AUTH_URL and AUTH_INTROSPECTION_URL the https URLs of the identity provider',
  ],
  ['identity provider', 'See that AUTH_URL is the issuer as it spells itself, and can be reached from here'],
  [
    'introspection',
    'See that AUTH_INTROSPECTION_CLIENT_ID and its secret are of a client that may introspect, and AUTH_INTROSPECTION_URL is where',
  ],
  ['signing keys', 'Set URL_SIGNING_KEYS to what `openssl rand -hex 32` prints'],
];

/** Returns the remedy for a failed check (pure). */
export function fixFor(what: string): string | null {
  return FIXES.find(([beginning]) => what.startsWith(beginning))?.[1] ?? null;
}
