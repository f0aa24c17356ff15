import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { ClientMetadata } from 'oidc-provider';
import { z } from 'zod';
import { codeOf } from '../common/finding.js';
import { hostOf, isLoopback } from '../common/url.js';
import { type Config, ConfigError } from '../config/config.js';
import { ownScopes, type ScopeDefinition } from '../config/scopes.js';
import { hasSampleClients } from '../config/settings/auth.js';

/** The scopes of the embedded provider: those of the API, of which `profile` is also one of OpenID Connect, and others of it. */
export function providerScopes(scopes: readonly ScopeDefinition[]): string[] {
  return ['openid', 'email', 'offline_access', ...scopes.map(({ name }) => name)];
}

/** RFC 6749 appendix A.1 and A.2: ids and secrets are visible ASCII and spaces. */
const visible = z.string().regex(/^[\x20-\x7e]{1,512}$/, 'must be 1 to 512 characters of ASCII');
const uris = z.array(z.url()).default([]);

/** A client with the names and defaults of RFC 7591 §2, and `owner`. oidc-provider checks the rest. */
const CLIENT = z
  .strictObject({
    client_id: visible,
    client_name: z.string().min(1).max(200).optional(),
    client_secret: visible.optional(),
    token_endpoint_auth_method: z
      .enum(['client_secret_basic', 'client_secret_post', 'none'])
      .default('client_secret_basic'),
    grant_types: z
      .array(
        z.enum([
          'authorization_code',
          'client_credentials',
          'refresh_token',
          'urn:ietf:params:oauth:grant-type:device_code',
        ]),
      )
      .default(['authorization_code']),
    redirect_uris: uris,
    /** URIs to which a user can return after signing out (OpenID Connect RP-Initiated Logout 1.0 §3.1). */
    post_logout_redirect_uris: uris,
    /** Scopes separated by spaces. Empty: none. */
    scope: z.string().default(''),
    /** Id of the user on whose behalf a client-credentials token acts. Null: the token has no user. */
    owner: z.string().min(1).nullable().default(null),
  })
  .refine((client) => isPublic(client) === (client.client_secret === undefined), {
    path: ['client_secret'],
    error: 'must be absent when token_endpoint_auth_method is none, and is required otherwise',
  })
  .refine((client) => !isPublic(client) || !client.grant_types.includes('client_credentials'), {
    path: ['grant_types'],
    error: 'must not have client_credentials when token_endpoint_auth_method is none',
  });

export type Client = Readonly<z.output<typeof CLIENT>>;

function isPublic({ token_endpoint_auth_method: method }: { token_endpoint_auth_method: string }): boolean {
  return method === 'none';
}

/**
 * Reads the clients of the embedded provider: a JSON array in the file at this path.
 * @throws ConfigError with every problem found. No problem contains a secret.
 */
export function readClients(file: string, scopes: readonly ScopeDefinition[]): Client[] {
  const path = relative('', file);
  const name = path.startsWith('..') ? file : path;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    // The message of the parser quotes its input, which may be a secret.
    const reason =
      error instanceof SyntaxError ? 'is not JSON' : `cannot be read (${codeOf(error) ?? 'no reason given'})`;
    throw new ConfigError([`${name}: ${reason}`]);
  }
  return parseClients(content, name, scopes);
}

/** @throws ConfigError with every problem of the content */
export function parseClients(content: unknown, name: string, scopes: readonly ScopeDefinition[]): Client[] {
  const known = providerScopes(scopes);
  const { data = [], error } = z
    .array(
      CLIENT.refine(({ scope }) => scope === '' || scope.split(' ').every((word) => known.includes(word)), {
        path: ['scope'],
        error: `must be words out of ${known.join(', ')}, separated by single spaces`,
      }),
    )
    .refine((clients) => new Set(clients.map(({ client_id: id }) => id)).size === clients.length, {
      error: 'two clients have the same client_id',
    })
    .safeParse(content);
  if (error === undefined) return data;
  throw new ConfigError(
    error.issues.map(({ path: [index, ...member], message }) => {
      const client = typeof index === 'number' ? `client ${index + 1}: ` : '';
      return `${name}: ${client}${member.length === 0 ? '' : `${member.join('.')}: `}${message}`;
    }),
  );
}

/**
 * The clients of the file, and that of the explorer unless the file defines it. The sample's application for users may also
 * request the scopes of the model, which its file cannot name because it is also the default with other directories.
 */
export function registeredClients(config: Pick<Config, 'auth' | 'explorer' | 'scopes'>): Client[] {
  const { auth, scopes } = config;
  const own = ownScopes(scopes).map(({ name }) => name);
  const clients = readClients(auth.embeddedClients, scopes).map((client) =>
    hasSampleClients(auth) && isPublic(client)
      ? { ...client, scope: [client.scope, ...own].join(' ') }
      : client,
  );
  const explorer = explorerClient(config);
  return explorer === null || clients.some(({ client_id: id }) => id === explorer.client_id)
    ? clients
    : [...clients, explorer];
}

function explorerClient({ explorer, scopes }: Pick<Config, 'explorer' | 'scopes'>): Client | null {
  const id = explorer?.clientId ?? null;
  if (explorer === null || id === null) return null;
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
  const isWeb = [...client.redirect_uris, ...client.post_logout_redirect_uris].some((uri) => {
    const url = new URL(uri);
    return url.protocol === (isLoopback(hostOf(url)) ? 'https:' : 'http:');
  });
  return {
    ...client,
    application_type: isWeb ? 'web' : 'native',
    response_types: client.grant_types.includes('authorization_code') ? ['code'] : [],
  };
}
