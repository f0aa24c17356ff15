import { z } from 'zod';
import type { Field } from '../../common/field.js';
import { resolveFile, SAMPLE_CLIENTS } from '../sample-files.js';
import { CLIENT_CLAIMS, PROVIDERS, type ProviderName, type TokenRules } from './identity-providers.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { certificates, httpUrl, list, text, yesOrNo } from '../value-kinds.js';

const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];
const claim = text.max(200, { error: 'must be at most 200 characters' });

/** Settings of the token issuer and of the signatures of URLs. */
export const AUTH_SETTINGS = {
  AUTH_URL: setting(
    httpUrl.optional(),
    'Issuer of the access tokens. Empty: the embedded identity provider at BASE_URL.',
  ),
  AUTH_PROVIDER: setting(
    text
      .toLowerCase()
      .pipe(z.enum(PROVIDER_NAMES, { error: `must be one of ${PROVIDER_NAMES.join(', ')}` }))
      .default('generic'),
    'Kind of the issuer, which decides the defaults of the next five settings (docs/identity-providers.md). generic: RFC 9068.',
  ),
  AUTH_TOKEN_TYPE: setting(
    text.pipe(z.enum(['at+jwt', 'any'], { error: 'must be at+jwt or any' })).optional(),
    'Types (typ) of JWTs. at+jwt: access tokens of RFC 9068 only. any: JWT and none too, except tokens of another kind.',
  ),
  AUTH_USER_CLAIM: setting(
    claim.optional(),
    'Claim that names the user: a name, or a path with dots. Default: sub, or that of AUTH_PROVIDER.',
  ),
  AUTH_USER_FIELD: setting(
    text.optional(),
    'Field of users with the value of that claim: id, email, uuid, or a filterable field of the model of type String, URL or Int. Default: id, or that of AUTH_PROVIDER.',
  ),
  AUTH_CLIENT_CLAIM: setting(
    text.pipe(z.enum(CLIENT_CLAIMS, { error: `must be one of ${CLIENT_CLAIMS.join(', ')}` })).optional(),
    'Claim that names the client. Default: the first of client_id, azp, appid and cid that a token has.',
  ),
  AUTH_SCOPE_CLAIM: setting(
    claim.optional(),
    'Claim that has the scopes, such as realm_access.roles: a name, or a path with dots. Default: scope and scp; with entra and zitadel their roles, if a token has neither.',
  ),
  AUTH_AUDIENCE: setting(
    list.optional(),
    'Audiences (aud) of which access tokens must have one, comma-separated. BASE_URL and the resources below it are accepted, too.',
  ),
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
  readonly provider: ProviderName;
  readonly rules: TokenRules;
  /** The first is that of tokens of the embedded provider. */
  readonly audiences: readonly [string, ...string[]];
  /** Null: only JWTs are accepted. */
  readonly introspection: IntrospectionConfig | null;
  /** Certificates of the authorities that the issuer is trusted by, as PEM. Null: those that Node.js trusts. */
  readonly certificates: string | null;
  /** Absolute path of the file with the clients of the embedded provider. */
  readonly embeddedClients: string;
}

/** @param fields those of users, with those of the model */
export function findUserFieldProblems({ rules }: AuthConfig, fields: readonly Field[]): string[] {
  const { userField } = rules;
  const field = fields.find(({ name }) => name === userField);
  const isUsable = field?.isFilterable === true && ['String', 'URL', 'Int'].includes(field.type);
  if (['id', 'email', 'uuid'].includes(userField) || isUsable) return [];
  const reason =
    field === undefined ? 'is no field of users' : 'is no filterable field of type String, URL or Int';
  return [`AUTH_USER_FIELD must be id, email, uuid, or a field of the model: ${userField} ${reason}`];
}

/** Returns whether the embedded provider uses the clients of the sample, whose secrets are public. */
export function hasSampleClients({ embeddedClients }: AuthConfig): boolean {
  return embeddedClients === resolveFile(SAMPLE_CLIENTS);
}

/** @param baseUrl base URL of the service, which is the default audience of tokens */
export function buildAuth(settings: ValuesOf<typeof AUTH_SETTINGS>, baseUrl: string): AuthConfig {
  const { AUTH_PROVIDER: provider, AUTH_CLIENT_CLAIM: client } = settings;
  const [first = baseUrl, ...more] = settings.AUTH_AUDIENCE ?? [];
  const preset: TokenRules = PROVIDERS[provider];
  return {
    issuer: settings.AUTH_URL?.replace(/\/+$/, '') ?? null,
    provider,
    rules: {
      ...preset,
      tokenType: settings.AUTH_TOKEN_TYPE ?? preset.tokenType,
      userClaim: settings.AUTH_USER_CLAIM ?? preset.userClaim,
      userField: settings.AUTH_USER_FIELD ?? preset.userField,
      clientClaims: client === undefined ? preset.clientClaims : [client],
      scopeClaim: settings.AUTH_SCOPE_CLAIM ?? preset.scopeClaim,
    },
    audiences: [first, ...more],
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
