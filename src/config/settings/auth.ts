import { z } from 'zod';
import { resolveFile, SAMPLE_CLIENTS } from '../sample-files.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { certificates, httpUrl, list, text, yesOrNo } from '../value-kinds.js';

/** Settings of the token issuer and of the signatures of URLs. */
export const AUTH_SETTINGS = {
  AUTH_URL: setting(
    httpUrl.optional(),
    'Issuer of the access tokens. Empty: the embedded identity provider at BASE_URL.',
  ),
  AUTH_AUDIENCE: setting(text.optional(), 'Audience (aud) that access tokens must have. Default: BASE_URL.'),
  AUTH_CA_FILE: setting(
    certificates.optional(),
    'PEM file with the certificate authorities of the issuer: for its metadata, keys and introspection. Default: those of Node.js.',
  ),
  AUTH_INTROSPECTION_CLIENT_ID: setting(
    text.optional(),
    'Client id for the introspection of opaque tokens (RFC 7662).',
  ),
  AUTH_INTROSPECTION_CLIENT_SECRET: secret(z.string().optional(), 'Client secret for the introspection.'),
  AUTH_INTROSPECTION_URL: setting(
    httpUrl.optional(),
    'Introspection endpoint. Default: the one in the metadata of the issuer.',
  ),
  AUTH_INTROSPECTION_NO_AUDIENCE: setting(
    yesOrNo,
    'Accepts introspection answers without aud, if all tokens of the provider are for this service.',
  ),
  AUTH_EMBEDDED_CLIENTS: setting(
    text.default(SAMPLE_CLIENTS),
    'JSON file with the clients of the embedded identity provider.',
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
    'Keys for signed URLs in hexadecimal, comma-separated. The first key signs, all keys verify. Empty: generated once and kept in the database.',
  ),
};

export interface IntrospectionConfig {
  /** Null: the metadata of the issuer contains the URL. */
  readonly url: string | null;
  /** Null: the endpoint requires no client authentication. */
  readonly client: { readonly clientId: string; readonly clientSecret: string } | null;
  /** Whether an introspection response without `aud` is accepted for this service. */
  readonly mayLackAudience: boolean;
}

export interface AuthConfig {
  /** The external issuer. Null: the embedded identity provider. */
  readonly issuer: string | null;
  readonly audience: string;
  /** Null: only JWTs are accepted. */
  readonly introspection: IntrospectionConfig | null;
  /** Certificates of the authorities that the issuer is trusted by, as PEM. Null: those that Node.js trusts. */
  readonly certificates: string | null;
  /** Absolute path of the file with the clients of the embedded provider. */
  readonly embeddedClients: string;
}

/** Returns whether the embedded provider uses the clients of the sample, whose secrets are public. */
export function hasSampleClients({ embeddedClients }: AuthConfig): boolean {
  return embeddedClients === resolveFile(SAMPLE_CLIENTS);
}

/** @param baseUrl base URL of the service, which is the default audience of tokens */
export function buildAuth(settings: ValuesOf<typeof AUTH_SETTINGS>, baseUrl: string): AuthConfig {
  return {
    issuer: settings.AUTH_URL?.replace(/\/+$/, '') ?? null,
    audience: settings.AUTH_AUDIENCE ?? baseUrl,
    introspection: buildIntrospection(settings),
    certificates: settings.AUTH_CA_FILE ?? null,
    embeddedClients: resolveFile(settings.AUTH_EMBEDDED_CLIENTS),
  };
}

function buildIntrospection(settings: ValuesOf<typeof AUTH_SETTINGS>): IntrospectionConfig | null {
  const { AUTH_INTROSPECTION_CLIENT_ID: clientId, AUTH_INTROSPECTION_CLIENT_SECRET: clientSecret } = settings;
  const client = clientId === undefined || clientSecret === undefined ? null : { clientId, clientSecret };
  const url = settings.AUTH_INTROSPECTION_URL ?? null;
  const mayLackAudience = settings.AUTH_INTROSPECTION_NO_AUDIENCE;
  return client === null && url === null ? null : { url, client, mayLackAudience };
}
