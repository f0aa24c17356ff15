import { resolve } from 'node:path';
import { z } from 'zod';
import { secret, setting, type ValuesOf } from '../setting.js';
import { httpUrl, list, text, yesOrNo } from '../value-kinds.js';

/** Whose tokens are believed, and what signs URLs. */
export const AUTH_SETTINGS = {
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
  AUTH_INTROSPECTION_URL: setting(
    httpUrl.optional(),
    'Where they are introspected. Default: what the metadata of the issuer says',
  ),
  AUTH_INTROSPECTION_NO_AUDIENCE: setting(
    yesOrNo,
    'Accepts introspected tokens without aud, of a provider whose tokens are all for this service',
  ),
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
};

export interface IntrospectionConfig {
  /** Null: where the metadata of the issuer says. */
  readonly url: string | null;
  /** Null: whoever reaches the URL may ask. */
  readonly client: { readonly clientId: string; readonly clientSecret: string } | null;
  /** Whether a token of which no `aud` is told is for this service. */
  readonly mayLackAudience: boolean;
}

export interface AuthConfig {
  /** The external issuer; null: the embedded identity provider. */
  readonly issuer: string | null;
  readonly audience: string;
  /** Null: tokens have to be JWTs. */
  readonly introspection: IntrospectionConfig | null;
  /** Absolute path of the file with the embedded provider's clients. */
  readonly embeddedClients: string;
}

/** Whether the embedded provider has the clients of the sample: their secrets are known to everybody. */
export function hasSampleClients({ embeddedClients }: AuthConfig): boolean {
  return embeddedClients === resolve('sample/clients.json');
}

/** @param baseUrl of the service, which tokens are for where nothing else is named */
export function buildAuth(settings: ValuesOf<typeof AUTH_SETTINGS>, baseUrl: string): AuthConfig {
  return {
    issuer: settings.AUTH_URL?.replace(/\/+$/, '') ?? null,
    audience: settings.AUTH_AUDIENCE ?? baseUrl,
    introspection: buildIntrospection(settings),
    embeddedClients: resolve(settings.AUTH_EMBEDDED_CLIENTS),
  };
}

function buildIntrospection(settings: ValuesOf<typeof AUTH_SETTINGS>): IntrospectionConfig | null {
  const { AUTH_INTROSPECTION_CLIENT_ID: clientId, AUTH_INTROSPECTION_CLIENT_SECRET: clientSecret } = settings;
  const client = clientId === undefined || clientSecret === undefined ? null : { clientId, clientSecret };
  const url = settings.AUTH_INTROSPECTION_URL ?? null;
  const mayLackAudience = settings.AUTH_INTROSPECTION_NO_AUDIENCE;
  return client === null && url === null ? null : { url, client, mayLackAudience };
}
