import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { parseHttpUrl, parseUrl } from '../common/url.js';

/** One environment variable: how its text is read, what it means, and whether its value may be shown. */
export interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly description: string;
  /** A secret is never printed and can be given as a file by NAME_FILE. */
  readonly secret?: true;
}

function setting<Schema extends z.ZodType>(schema: Schema, description: string): Setting<Schema> {
  return { schema, description };
}

function secret<Schema extends z.ZodType>(schema: Schema, description: string): Setting<Schema> {
  return { schema, description, secret: true };
}

const text = z.string().trim();

const integer = (minimum: number, maximum: number, otherwise: number) =>
  text
    .regex(/^\d{1,9}$/, { error: `must be a whole number from ${minimum} to ${maximum}` })
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, {
      error: `must be a whole number from ${minimum} to ${maximum}`,
    })
    .default(otherwise);

const trueOrFalse = text
  .toLowerCase()
  .refine((value) => value === 'true' || value === 'false', { error: 'must be true or false' })
  .transform((value) => value === 'true');

const yesOrNo = trueOrFalse.default(false);

const list = text.transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const hostName = text.refine(
  (value) =>
    /^[A-Za-z0-9.:-]+$/.test(value) &&
    parseUrl(`http://${value.includes(':') ? `[${value}]` : value}`) !== null,
  { error: 'must be a host name or an IP address' },
);

const httpUrl = text.refine(isPlainHttpUrl, {
  error: 'must be an http or https URL without query, fragment or password',
});

/** It stands in logs and in answers. */
function isPlainHttpUrl(value: string): boolean {
  const url = parseHttpUrl(value);
  return url !== null && url.username === '' && url.password === '' && !/[?#]/.test(value);
}

/** As browsers send it: nothing after the port, and no port that goes without saying. */
const origins = list.refine(
  (items) => items.every((item) => !item.includes('*') && parseHttpUrl(item)?.origin === item),
  {
    error: 'must be origins such as https://pages.example.org, separated by commas',
  },
);

const proxies = list.refine((items) => items.every(isAddressOrNetwork), {
  error: 'must be IP addresses or networks such as 10.0.0.0/8, separated by commas',
});

/** RFC 4632 §3.1, RFC 4291 §2.3. */
function isAddressOrNetwork(item: string): boolean {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(item) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
}

function isPostgresUrl(value: string): boolean {
  return /^postgres(ql)?:\/\//.test(value) && parseUrl(value) !== null;
}

const replicaUrls = list.refine((items) => items.every(isPostgresUrl), {
  error: 'must be postgres://user:password@host/database, several separated by commas',
});

const redisUrl = text.refine(isRedisUrl, {
  error: 'must be redis://:password@host:port or rediss://…, with the number of a database if need be',
});

function isRedisUrl(value: string): boolean {
  const url = /^rediss?:\/\/[^/?#]+(\/\d{0,5})?$/.test(value) ? parseUrl(value) : null;
  if (url === null || url.hostname === '') return false;
  try {
    decodeURIComponent(`${url.username}:${url.password}`);
    return true;
  } catch {
    return false; // A percent sign that means nothing.
  }
}

const attribute = text.regex(/^[A-Za-z][A-Za-z0-9-]*$/, { error: 'must be the name of an LDAP attribute' });

const attributes = list.refine(
  (names) => names.length > 0 && names.every((name) => attribute.safeParse(name).success),
  {
    error: 'must be one or more names of LDAP attributes, separated by commas',
  },
);

const objectClasses = list.refine(
  (names) => names.length > 0 && names.every((name) => attribute.safeParse(name).success),
  {
    error: 'must be one or more names of object classes, separated by commas',
  },
);

const distinguishedName = text;

function isLdapUrl(value: string): boolean {
  if (!/^ldaps?:\/\/[^/?#@]+\/?$/i.test(value)) return false;
  const url = parseUrl(value);
  return url !== null && url.hostname !== '';
}

const certificates = text.transform((file, context) => {
  try {
    const pem = readFileSync(file, 'utf8');
    if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
    context.addIssue(`names a file without certificates in PEM: ${file}`);
  } catch {
    context.addIssue(`names a file that cannot be read: ${file}`);
  }
  return z.NEVER;
});

/** Every setting there is. `directory check`, the README's table and `.env.example` are compared with this list. */
export const SETTINGS = {
  HOST: setting(hostName.default('127.0.0.1'), 'Address to listen on'),
  PORT: setting(integer(1, 65_535, 3000), 'Port to listen on'),
  BASE_URL: setting(
    httpUrl.optional(),
    'URL under which clients reach the service; may have a path. Default: http://HOST:PORT',
  ),
  NODE_ENV: setting(
    text.default('development'),
    'production refuses everything embedded, and hides the schema',
  ),
  ALLOW_EMBEDDED: setting(yesOrNo, 'Lets embedded parts run in production, for a demonstration'),
  LOG_LEVEL: setting(
    z
      .enum(['fatal', 'error', 'warn', 'log', 'debug', 'verbose'], {
        error: 'must be one of fatal, error, warn, log, debug, verbose',
      })
      .default('log'),
    'Least severe kind of message that is logged',
  ),
  TRUSTED_PROXIES: setting(
    proxies.default([]),
    'Addresses or networks of the proxies in front, whose X-Forwarded-For is believed',
  ),
  CORS_ORIGINS: setting(origins.default([]), 'Origins of web pages that may call the API from a browser'),
  GRAPHQL_INTROSPECTION: setting(
    trueOrFalse.optional(),
    'Whether the schema describes itself to clients. Default: not in production',
  ),
  GRAPHQL_SUGGESTIONS: setting(
    trueOrFalse.optional(),
    'Whether errors suggest names of the schema («Did you mean …»). Default: not in production',
  ),

  DATABASE_URL: secret(
    text
      .refine((value) => /^pglite:.+/.test(value) || isPostgresUrl(value), {
        error: 'must be postgres://user:password@host/database or pglite:directory',
      })
      .default('pglite:.data/mirror'),
    'Where the mirror is kept: an embedded database in a directory, or a PostgreSQL server',
  ),
  DATABASE_REPLICA_URLS: secret(
    replicaUrls.default([]),
    'Read replicas of that server, separated by commas; most of what is asked for is read from them',
  ),
  DATABASE_POOL_SIZE: setting(
    integer(1, 200, 10),
    'Connections to PostgreSQL that one process opens at most, and as many to each replica',
  ),

  REDIS_URL: secret(
    redisUrl.optional(),
    'Redis that several processes share their limits through. Empty: each process counts on its own',
  ),
  REDIS_PREFIX: setting(
    text.optional(),
    'What keys in Redis begin with. Default: directory, and host and path of BASE_URL where that is set',
  ),
  REDIS_CA_FILE: setting(
    certificates.optional(),
    'File with the certificates (PEM) that a rediss:// server may be signed by. Default: those Node.js trusts',
  ),

  DIRECTORY_URL: setting(
    text
      .refine((value) => /^file:.+/.test(value) || isLdapUrl(value), {
        error: 'must be ldap://host, ldaps://host, or file: and the path of an LDIF file',
      })
      .default('file:sample/directory.ldif'),
    'The directory: an LDAP server, or an LDIF content file',
  ),
  DIRECTORY_STARTTLS: setting(yesOrNo, 'Encrypts the connection to an ldap:// server by StartTLS'),
  DIRECTORY_CA_FILE: setting(
    certificates.optional(),
    'File with the certificates (PEM) that the LDAP server may be signed by. Default: those Node.js trusts',
  ),
  DIRECTORY_BIND_DN: setting(
    distinguishedName.optional(),
    'Who the service is in the directory. Empty: it reads anonymously',
  ),
  DIRECTORY_BIND_PASSWORD: secret(z.string().optional(), 'Password of DIRECTORY_BIND_DN'),
  DIRECTORY_BASE_DN: setting(
    distinguishedName.default('dc=example,dc=org'),
    'Suffix below which people and groups are',
  ),
  DIRECTORY_SYNC_SECONDS: setting(
    integer(1, 86_400, 30),
    'How often, in seconds, a directory that tells nothing by itself is asked whether anything has changed',
  ),
  DIRECTORY_PEOPLE_BASE: setting(
    distinguishedName.default('ou=people'),
    'Where people are, relative to DIRECTORY_BASE_DN',
  ),
  DIRECTORY_PEOPLE_FILTER: setting(
    text.default('(objectClass=inetOrgPerson)'),
    'Which entries there are people (RFC 4515)',
  ),
  DIRECTORY_GROUPS_BASE: setting(
    distinguishedName.default('ou=groups'),
    'Where groups are, relative to DIRECTORY_BASE_DN',
  ),
  DIRECTORY_GROUPS_FILTER: setting(
    text.default('(objectClass=groupOfNames)'),
    'Which entries there are groups (RFC 4515)',
  ),
  DIRECTORY_ENTRY_UUID: setting(
    attribute.default('entryUUID'),
    'Attribute with the identity of an entry, which survives renames',
  ),
  DIRECTORY_CREATED_AT: setting(
    attribute.default('createTimestamp'),
    'Attribute with the time at which an entry was made',
  ),
  DIRECTORY_MODIFIED_AT: setting(
    attribute.default('modifyTimestamp'),
    'Attribute with the time at which an entry was last changed',
  ),
  DIRECTORY_USER_ID: setting(attribute.default('uid'), "Attribute with a person's id"),
  DIRECTORY_USER_NAME: setting(
    attributes.default(['displayName', 'cn']),
    "Attributes with a person's name; the first that is there counts",
  ),
  DIRECTORY_USER_GIVEN_NAME: setting(attribute.default('givenName'), 'Attribute with the given name'),
  DIRECTORY_USER_FAMILY_NAME: setting(attribute.default('sn'), 'Attribute with the family name'),
  DIRECTORY_USER_EMAIL: setting(attribute.default('mail'), 'Attribute with the e-mail address of a person'),
  DIRECTORY_USER_SCHOOL_YEAR: setting(attribute.default('schoolYear'), 'Attribute with the school year'),
  DIRECTORY_USER_PHOTO: setting(attribute.default('jpegPhoto'), 'Attribute with the photo, as bytes'),
  DIRECTORY_USER_PICTURE: setting(
    attribute.default('profilePicture'),
    'Attribute with the picture people chose for themselves, as bytes',
  ),
  DIRECTORY_GROUP_ID: setting(attribute.default('cn'), "Attribute with a group's id"),
  DIRECTORY_GROUP_NAME: setting(
    attributes.default(['displayName', 'cn']),
    "Attributes with a group's name; the first that is there counts",
  ),
  DIRECTORY_GROUP_DESCRIPTION: setting(
    attribute.default('description'),
    'Attribute with the description of a group',
  ),
  DIRECTORY_GROUP_EMAIL: setting(attribute.default('mail'), 'Attribute with the e-mail address of a group'),
  DIRECTORY_GROUP_WEBSITE: setting(attribute.default('labeledURI'), 'Attribute with the web site of a group'),
  DIRECTORY_GROUP_MEMBER: setting(attribute.default('member'), 'Attribute that names the members of a group'),
  DIRECTORY_GROUP_ADMIN: setting(
    attribute.default('groupAdmin'),
    'Attribute that names the admins of a group',
  ),
  DIRECTORY_GROUP_OWNER: setting(attribute.default('owner'), 'Attribute that names the owners of a group'),
  DIRECTORY_GROUP_CLASSES: setting(
    objectClasses.default(['groupOfNames', 'directoryGroup']),
    'Object classes of a group that is made anew',
  ),
  DIRECTORY_GUARD_PERCENT: setting(
    integer(0, 100, 5),
    'Share of people, groups or memberships that may be deleted within the window',
  ),
  DIRECTORY_GUARD_SECONDS: setting(
    integer(1, 86_400, 600),
    'Window, in seconds, over which deletions are added up',
  ),
  DIRECTORY_CHANGES_DAYS: setting(integer(1, 3650, 30), 'Days for which what has changed is kept'),

  AUTH_URL: setting(
    httpUrl.optional(),
    'Issuer of the access tokens. Empty: the embedded identity provider at BASE_URL',
  ),
  AUTH_AUDIENCE: setting(text.optional(), 'Audience that access tokens must name. Default: BASE_URL'),
  AUTH_INTROSPECTION_CLIENT_ID: setting(
    text.optional(),
    'Client with which opaque tokens are introspected (RFC 7662)',
  ),
  AUTH_INTROSPECTION_CLIENT_SECRET: secret(z.string().optional(), 'Secret of that client'),
  AUTH_EMBEDDED_CLIENTS: setting(
    text.default('sample/clients.json'),
    'Clients of the embedded identity provider',
  ),

  URL_SIGNING_KEYS: secret(
    list
      .refine(
        (keys) =>
          keys.length > 0 && keys.every((key) => /^[0-9a-f]{64,256}$/i.test(key) && key.length % 2 === 0),
        {
          error:
            'must be keys of at least 32 bytes in hexadecimal, separated by commas (openssl rand -hex 32)',
        },
      )
      .optional(),
    'Keys for signed URLs; the first signs, all verify. Empty: generated once and kept in the database',
  ),

  LIMIT_DEPTH: setting(integer(1, 100, 12), 'Levels that an operation may nest'),
  LIMIT_ALIASES: setting(integer(0, 1000, 30), 'Aliases that an operation may have'),
  LIMIT_DIRECTIVES: setting(integer(0, 1000, 50), 'Directives that an operation may have'),
  LIMIT_ROOT_FIELDS: setting(integer(1, 1000, 20), 'Root fields that an operation may have'),
  LIMIT_TOKENS: setting(integer(10, 100_000, 1000), 'Tokens that a document may have'),
  LIMIT_BODY_BYTES: setting(integer(1000, 10_000_000, 100_000), 'Bytes that a request body may have'),
  LIMIT_NODES: setting(integer(1, 1_000_000, 10_000), 'Nodes that an operation may ask for'),
  LIMIT_POINTS_PER_HOUR: setting(
    integer(1, 999_999_999, 5000),
    'Points that a principal may spend in an hour',
  ),
  LIMIT_REQUESTS_PER_MINUTE: setting(
    integer(1, 999_999_999, 300),
    'Requests that a principal may make in a minute',
  ),
  LIMIT_FAILED_LOGINS: setting(
    integer(1, 999_999_999, 10),
    'Logins that may fail in 15 minutes, for each account and for each address',
  ),
  LIMIT_PREVIEWS: setting(
    integer(1, 200, 16),
    'Previews that one process works on at once, each on its own connection to PostgreSQL',
  ),
  ANSWER_CACHE_MEGABYTES: setting(
    integer(0, 100_000, 128),
    'Megabytes of answers that a process remembers at most, each until the mirror changes; 0: none',
  ),
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** The settings as they were read, each with the type that its schema gives it. */
export type Settings = { readonly [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };
