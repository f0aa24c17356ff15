import type { Field } from '../../common/field.js';
import { resolveFile, SAMPLE_CLIENTS } from '../paths.js';
import type { Settings } from '../settings.js';

/** How the access tokens of a provider differ from those of RFC 9068. docs/identity-providers.md shows one of each. */
export interface TokenRules {
  /** The type in the header: `any` also accepts JWT and none, of what is no other kind of token by any sign. */
  readonly tokenType: 'at+jwt' | 'any';
  /** The claim that names the user: its name, or its path, with a dot between the names. */
  readonly userClaim: string;
  /** The field of users that has the value of this claim: id, email, uuid, or one of the model. */
  readonly userField: string;
  /** The first of them that a token has names its client. */
  readonly clientClaims: readonly string[];
  /** The claim with the scopes. Null: scope and scp. */
  readonly scopeClaim: string | null;
  /** The claim with the scopes of tokens that have neither scope nor scp. */
  readonly roleClaim: string | null;
  /** A claim that all access tokens have, and no other tokens. */
  readonly mark: string | null;
  /** Claims of ID tokens and logout tokens, which access tokens do not have. */
  readonly foreignClaims: readonly string[];
}

const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid'] as const;

/** OpenID Connect Core 1.0 §3.1.3.6, §3.3.2.11, FAPI 1.0 Advanced §5.1.1, and Back-Channel Logout 1.0 §2.4. */
export const FOREIGN = ['at_hash', 'c_hash', 's_hash', 'events'];

const RFC_9068: TokenRules = {
  tokenType: 'at+jwt',
  userClaim: 'sub',
  userField: 'id',
  clientClaims: CLIENT_CLAIMS,
  scopeClaim: null,
  roleClaim: null,
  mark: null,
  foreignClaims: ['nonce', ...FOREIGN],
};
const JWT: TokenRules = { ...RFC_9068, tokenType: 'any' };

export const PROVIDERS = {
  /** `sub` is an internal id. */
  keycloak: { ...JWT, userClaim: 'preferred_username' },
  /** `sub` differs between applications, and names can change hands. Tokens of applications have roles only. */
  entra: { ...JWT, userClaim: 'oid', userField: 'uuid', roleClaim: 'roles' },
  auth0: JWT,
  /** `sub` is the login, which has the form of an address. */
  okta: { ...JWT, userField: 'email' },
  /** A provider of scopes of OpenID only: applications have roles. */
  zitadel: {
    ...JWT,
    roleClaim: 'urn:zitadel:iam:org:project:roles',
    foreignClaims: ['auth_time', 'amr', 'acr', ...JWT.foreignClaims],
  },
  /** Access tokens are ID tokens, nonce included, with two more claims. */
  authentik: { ...JWT, userClaim: 'preferred_username', mark: 'uid', foreignClaims: FOREIGN },
  hydra: JWT,
  ory: JWT,
  generic: RFC_9068,
} satisfies Record<string, TokenRules>;

type ProviderName = keyof typeof PROVIDERS;

/** The issuers whose tokens are accepted: some end with a slash, and Entra ID has another one for tokens of version 1. */
export function issuersOf(issuer: string, provider: ProviderName): string[] {
  const [, tenant] = /^https:\/\/login\.microsoftonline\.(?:com|us)\/([^/]+)\/v2\.0$/.exec(issuer) ?? [];
  const other = provider === 'entra' && tenant !== undefined ? [`https://sts.windows.net/${tenant}/`] : [];
  return [issuer, `${issuer}/`, ...other];
}

/** The audiences of an application: Entra ID names it by its id, and by a URI in tokens of version 1. */
export function audienceForms(audience: string, provider: ProviderName): string[] {
  if (provider !== 'entra') return [audience];
  const [, uri, id] = /^(api:\/\/)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.exec(audience) ?? [];
  if (id === undefined) return [audience];
  return [audience, uri === undefined ? `api://${id}` : id];
}

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as [ProviderName, ...ProviderName[]];

export type AuthConfig = Readonly<ReturnType<typeof buildAuth>>;
export type IntrospectionConfig = NonNullable<AuthConfig['introspection']>;

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
    /** Absolute path of the file with the clients of the embedded provider. */
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
