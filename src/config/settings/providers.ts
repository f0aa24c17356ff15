/** OpenID Connect Core 1.0 §3.1.3.6, §3.3.2.11, FAPI 1.0 Advanced §5.1.1, and Back-Channel Logout 1.0 §2.4. */
export const FOREIGN = ['at_hash', 'c_hash', 's_hash', 'events'];

/** How access tokens are. docs/identity-providers.md shows how those of each provider differ from RFC 9068. */
const RFC_9068 = {
  /** The type in the header: `any` also accepts JWT and none, of what is no other kind of token by any sign. */
  tokenType: 'at+jwt' as 'at+jwt' | 'any',
  /** The claim that names the user: its name, or its path, with a dot between the names. */
  userClaim: 'sub',
  /** The field of users that has the value of this claim: id, email, uuid, or one of the model. */
  userField: 'id',
  /** The first of them that a token has names its client. */
  clientClaims: ['client_id', 'azp', 'appid', 'cid'] as readonly string[],
  /** The claim with the scopes. Null: scope and scp. */
  scopeClaim: null as string | null,
  /** The claim with the scopes of tokens that have neither scope nor scp. */
  roleClaim: null as string | null,
  /** A claim that all access tokens have, and no other tokens. */
  mark: null as string | null,
  /** Claims of ID tokens and logout tokens, which access tokens do not have. */
  foreignClaims: ['nonce', ...FOREIGN] as readonly string[],
};
export type TokenRules = Readonly<typeof RFC_9068>;
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

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as [ProviderName, ...ProviderName[]];

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
