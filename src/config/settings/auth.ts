import { resolveFile, SAMPLE_CLIENTS } from '../paths.js';
import type { Settings } from '../settings.js';
import type { DirectoryConfig } from './directory.js';
import { PROVIDERS, type TokenRules } from './providers.js';

export type AuthConfig = Readonly<ReturnType<typeof buildAuth>>;

export function findUserFieldProblems({ rules }: AuthConfig, { mapping }: DirectoryConfig): string[] {
  const { userField } = rules;
  const field = mapping.users.fields.find(({ name }) => name === userField);
  const isUsable = field?.isFilterable === true && ['String', 'URL', 'Int'].includes(field.type);
  if (['id', 'email', 'uuid'].includes(userField) || isUsable) return [];
  const expected = 'id, email, uuid, or a filterable field of users of type String, URL or Int';
  return [`AUTH_USER_FIELD must be ${expected}: ${userField} is none`];
}

/** Returns whether the embedded provider uses the clients of the sample, whose secrets are public. */
export function hasSampleClients({ embeddedClients }: AuthConfig): boolean {
  return embeddedClients === resolveFile(SAMPLE_CLIENTS);
}

export function buildAuth(settings: Settings, baseUrl: string) {
  const { AUTH_PROVIDER: provider } = settings;
  const [first = baseUrl, ...more] = settings.AUTH_AUDIENCE ?? [];
  const audiences: readonly [string, ...string[]] = [first, ...more];
  const preset: TokenRules = PROVIDERS[provider];
  const rules: TokenRules = {
    ...preset,
    tokenType: settings.AUTH_TOKEN_TYPE ?? preset.tokenType,
    userClaim: settings.AUTH_USER_CLAIM ?? preset.userClaim,
    userField: settings.AUTH_USER_FIELD ?? preset.userField,
    scopeClaim: settings.AUTH_SCOPE_CLAIM ?? preset.scopeClaim,
  };
  return {
    /** The external issuer. Null: the embedded identity provider. */
    issuer: settings.AUTH_URL?.replace(/\/+$/, '') ?? null,
    provider,
    rules,
    /** The first is that of tokens of the embedded provider. */
    audiences,
    /** Null: only JWTs are accepted. */
    introspection: buildIntrospection(settings),
    /** Certificates of the authorities that the issuer is trusted by, as PEM. Null: those that Node.js trusts. */
    certificates: settings.AUTH_CA_FILE ?? null,
    embeddedClients: resolveFile(settings.AUTH_EMBEDDED_CLIENTS),
  };
}

function buildIntrospection(settings: Settings) {
  const { AUTH_INTROSPECTION_CLIENT_ID: clientId, AUTH_INTROSPECTION_CLIENT_SECRET: clientSecret } = settings;
  const client = clientId === undefined || clientSecret === undefined ? null : { clientId, clientSecret };
  const url = settings.AUTH_INTROSPECTION_URL ?? null;
  if (client === null && url === null) return null;
  return {
    /** Null: the metadata of the issuer contains the URL. */
    url,
    /** Null: the endpoint requires no client authentication. */
    client,
    /** Whether an introspection response without `aud` is accepted for this service. */
    mayLackAudience: settings.AUTH_INTROSPECTION_NO_AUDIENCE,
  };
}
