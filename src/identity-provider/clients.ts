import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { ClientMetadata } from 'oidc-provider';
import { z } from 'zod';
import { type Config, ConfigError } from '../config/config.js';
import { BUILT_IN_SCOPES, ownScopes, type ScopeDefinition } from '../config/scopes.js';
import { hasSampleClients } from '../config/settings/auth.js';
import { isLoopbackUri, redirectUriProblem } from './redirect-uri.js';

/** The scopes of the embedded provider: those of the API, of which `profile` is also one of OpenID Connect, and others of it. */
export function providerScopes(scopes: readonly ScopeDefinition[]): string[] {
  return ['openid', 'email', 'offline_access', ...scopes.map(({ name }) => name)];
}

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const GRANT_TYPES = ['authorization_code', 'client_credentials', 'refresh_token', DEVICE_CODE] as const;
const AUTHENTICATION_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** A client of the embedded provider, with the names and defaults of RFC 7591 §2, and `owner`. */
export interface Client {
  readonly client_id: string;
  readonly client_name?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly token_endpoint_auth_method: (typeof AUTHENTICATION_METHODS)[number];
  readonly grant_types: readonly (typeof GRANT_TYPES)[number][];
  readonly redirect_uris: readonly string[];
  /** URIs to which a user can return after signing out (OpenID Connect RP-Initiated Logout 1.0 §3.1). */
  readonly post_logout_redirect_uris: readonly string[];
  /** Scopes separated by spaces. Empty: none. */
  readonly scope: string;
  /** Id of the user on whose behalf a client-credentials token acts. Null: the token has no user. */
  readonly owner: string | null;
}

/** RFC 6749 appendix A.1 and A.2: ids and secrets are visible ASCII and spaces. */
const visible = (error: string) => z.string({ error }).regex(/^[\x20-\x7e]{1,512}$/, { error });

const oneOf = (words: readonly string[]) => `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
const grantTypesError = `must be an array of ${oneOf(GRANT_TYPES)}`;
const redirectUrisError = 'must be an array of URLs';
const nameError = 'must be text of 1 to 200 characters';
const ownerError = 'must be the id of a person, or null';

const redirectUris = z
  .array(
    z.string({ error: redirectUrisError }).superRefine((uri, context) => {
      const problem = redirectUriProblem(uri);
      if (problem !== null) context.addIssue(problem);
    }),
    { error: redirectUrisError },
  )
  .default([]);

const FIELDS = {
  client_id: visible('must be 1 to 512 characters of ASCII'),
  client_name: z.string({ error: nameError }).min(1, nameError).max(200, nameError).optional(),
  client_secret: visible('must be 1 to 512 characters of ASCII').optional(),
  token_endpoint_auth_method: z
    .enum(AUTHENTICATION_METHODS, { error: `must be ${oneOf(AUTHENTICATION_METHODS)}` })
    .default('client_secret_basic'),
  grant_types: z
    .array(z.enum(GRANT_TYPES, { error: grantTypesError }), { error: grantTypesError })
    .default(['authorization_code']),
  redirect_uris: redirectUris,
  post_logout_redirect_uris: redirectUris,
  scope: z.string({ error: 'must be text' }).default(''),
  owner: z.string({ error: ownerError }).min(1, ownerError).nullable().default(null),
};

type FieldName = keyof typeof FIELDS;
type Fields = { [Name in FieldName]: z.output<(typeof FIELDS)[Name]> };

/**
 * Reads the clients of the embedded provider: a JSON array in the file at this path.
 * @throws ConfigError with every problem found. No problem contains a secret.
 */
export function readClients(file: string, scopes: readonly ScopeDefinition[]): Client[] {
  const name = displayName(file);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([
      `${name}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'no reason given'})`,
    ]);
  }
  const problems: string[] = [];
  const clients = parseClients(text, problems, scopes);
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${name}: ${problem}`));
  return clients;
}

/**
 * The clients of the file. The sample's application for users may also request the scopes of the model, which its file cannot
 * name because it is also the default with other directories.
 */
export function registeredClients({ auth, scopes }: Pick<Config, 'auth' | 'scopes'>): Client[] {
  const clients = readClients(auth.embeddedClients, scopes);
  const own = ownScopes(scopes).map(({ name }) => name);
  if (!hasSampleClients(auth)) return clients;
  return clients.map((client) =>
    isPublic(client) ? { ...client, scope: [client.scope, ...own].join(' ') } : client,
  );
}

function isPublic({ token_endpoint_auth_method: method }: Client): boolean {
  return method === 'none';
}

/** Parses the text of a clients file. The function adds each problem to `problems`. */
export function parseClients(
  text: string,
  problems: string[],
  scopes: readonly ScopeDefinition[] = BUILT_IN_SCOPES,
): Client[] {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    // The message of the parser quotes its input, which may be a secret. Only the position is reported.
    problems.push(`is not JSON${placeOf(error, text)}`);
    return [];
  }
  if (!Array.isArray(content)) {
    problems.push('must be an array of clients');
    return [];
  }
  const clients: Client[] = [];
  const positions = new Map<string, number>();
  for (const [index, item] of content.entries()) {
    const found: string[] = [];
    const client = parseClient(item, found, providerScopes(scopes));
    const id = client.client_id;
    const first = id === undefined ? undefined : positions.get(id);
    if (first !== undefined) found.push(`client_id is that of client ${first} already`);
    else if (id !== undefined) positions.set(id, index + 1);
    const label = `client ${index + 1}${id === undefined ? '' : ` (${id})`}`;
    problems.push(...found.map((problem) => `${label}: ${problem}`));
    if (found.length === 0) clients.push(client as Client);
  }
  return clients;
}

function parseClient(item: unknown, problems: string[], scopes: readonly string[]): Partial<Fields> {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    problems.push('must be an object');
    return {};
  }
  const client: Record<string, unknown> = {};
  for (const name of Object.keys(FIELDS) as FieldName[]) {
    const result = FIELDS[name].safeParse((item as Record<string, unknown>)[name]);
    if (result.success) client[name] = result.data;
    else problems.push(...new Set(result.error.issues.map(({ message }) => `${name} ${message}`)));
  }
  const { scope } = client;
  if (typeof scope === 'string' && scope !== '' && !scope.split(' ').every((word) => scopes.includes(word)))
    problems.push(`scope must be words out of ${scopes.join(', ')}, separated by single spaces`);
  for (const name of Object.keys(item)) {
    if (!Object.hasOwn(FIELDS, name)) problems.push(`${JSON.stringify(name)} is not a member of a client`);
  }
  problems.push(...contradictions(client, Object.hasOwn(item, 'client_secret')));
  return client;
}

/** Finds contradictions between members that are valid individually. Invalid members are undefined. */
function contradictions(client: Partial<Fields>, hasSecret: boolean): string[] {
  const { token_endpoint_auth_method: method, grant_types: grantTypes = [], redirect_uris: uris } = client;
  const isPublic = method === 'none';
  const hasCode = grantTypes.includes('authorization_code');
  const hasUri = uris !== undefined && uris.length > 0;
  const rules: [isBroken: boolean, problem: string][] = [
    [method !== undefined && isPublic === hasSecret, secretProblem(method)],
    [
      isPublic && grantTypes.includes('client_credentials'),
      'grant_types must not have client_credentials when token_endpoint_auth_method is none',
    ],
    [
      grantTypes.includes('refresh_token') && !hasCode && !grantTypes.includes(DEVICE_CODE),
      `grant_types must have authorization_code or ${DEVICE_CODE} beside refresh_token`,
    ],
    [
      hasCode && uris !== undefined && !hasUri,
      'redirect_uris must not be empty when grant_types has authorization_code',
    ],
    [
      client.grant_types !== undefined && !hasCode && hasUri,
      'redirect_uris must be empty when grant_types has no authorization_code',
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);
}

function secretProblem(method = 'none'): string {
  return method === 'none'
    ? 'client_secret must be absent when token_endpoint_auth_method is none'
    : `client_secret is missing, and token_endpoint_auth_method is ${method}`;
}

/** Returns the built-in client of the explorer. Null: the explorer is off, or the file defines a client with that id. */
export function explorerClient(
  { explorer, scopes }: Pick<Config, 'explorer' | 'scopes'>,
  others: readonly Client[],
): Client | null {
  const id = explorer?.clientId ?? null;
  if (explorer === null || id === null || others.some((other) => other.client_id === id)) return null;
  return {
    client_id: id,
    client_name: 'Explorer',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    redirect_uris: [explorer.redirectUri],
    post_logout_redirect_uris: [explorer.redirectUri],
    scope: scopes.map(({ name }) => name).join(' '),
    owner: null,
  };
}

/** Converts a client to the metadata of oidc-provider: without the owner, which it does not know, and the scopes, which it would not ignore. */
export function clientMetadata({ owner: _, scope: _scope, ...client }: Client): ClientMetadata {
  // With «native», the port of a loopback address may vary (RFC 8252 §7.3), but https on a loopback address
  // and http elsewhere are not allowed.
  const isWeb = [...client.redirect_uris, ...client.post_logout_redirect_uris].some((uri) =>
    uri.startsWith(isLoopbackUri(uri) ? 'https:' : 'http:'),
  );
  return {
    ...client,
    application_type: isWeb ? 'web' : 'native',
    response_types: client.grant_types.includes('authorization_code') ? ['code'] : [],
  };
}

function displayName(file: string): string {
  const path = relative('', file);
  return path.startsWith('..') ? file : path;
}

function placeOf(error: unknown, text: string): string {
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  return position === undefined ? '' : ` (line ${text.slice(0, Number(position)).split('\n').length})`;
}
