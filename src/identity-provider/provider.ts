import { randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JSONWebKeySet, type JWK } from 'jose';
import type { Configuration, OIDCContext, ResourceServer } from 'oidc-provider';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';
import { InvalidRequest, InvalidScope, InvalidTarget } from 'oidc-provider/lib/helpers/errors.js';
import { Provider } from 'oidc-provider/lib/provider.js';
import type { Config } from '../config/config.js';
import { PALETTE } from '../pages/style.js';
import { type Client, clientMetadata, providerScopes } from './clients.js';

/** Keys of the embedded provider. The database stores them, so that tokens and sessions survive a restart. */
export interface ProviderKeys {
  /** Private keys. The first one signs. */
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Keys of the signatures of cookies. The first one signs, all verify. */
  readonly cookieKeys: readonly string[];
}

/** The public members of a JWK (RFC 7517 §4, RFC 7518 §6). */
const PUBLIC_MEMBERS = /^(kty|use|alg|kid|n|e)$/;

export async function createKeys(): Promise<ProviderKeys> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = await exportJWK(privateKey);
  const key = { ...jwk, use: 'sig', alg: 'RS256', kid: await calculateJwkThumbprint(jwk) };
  return { jwks: { keys: [key] }, cookieKeys: [randomBytes(32).toString('base64url')] };
}

/** Returns the key set that verifies signatures of these keys. */
export function publicKeys({ jwks }: ProviderKeys): JSONWebKeySet {
  const isPublic = ([name]: [string, unknown]) => PUBLIC_MEMBERS.test(name);
  return { keys: jwks.keys.map((key) => Object.fromEntries(Object.entries(key).filter(isPublic))) };
}

/** The claims of OpenID Connect about a user. `sub` is the id as the directory spells it. */
export type ProviderPerson = Readonly<Record<string, string> & { sub: string }>;

/** Finds a user by id, in any spelling. Returns null when the mirror has no such user. */
type FindPerson = (id: string) => Promise<ProviderPerson | null>;

interface ProviderOptions {
  /** The URL of this service may have a path, with which all links of the provider then begin. */
  readonly config: Pick<Config, 'auth' | 'baseUrl' | 'corsOrigins' | 'scopes'>;
  readonly clients: readonly Client[];
  readonly keys: ProviderKeys;
  readonly findPerson: FindPerson;
}

/** Builds the OpenID provider. Requests come without the path of the issuer. */
export function buildProvider(options: ProviderOptions): Provider {
  const { clients, findPerson } = options;
  const { baseUrl: issuer } = options.config;
  const clientsById = new Map(clients.map((client) => [client.client_id, client]));
  const provider = new Provider(issuer, configuration(options, clientsById));
  useIssuerForLinks(provider, issuer);
  acceptKnownPeople(provider, findPerson);
  provider.use(async (context, next) => {
    await next();
    if (context.status === 503) context.set('Retry-After', '1');
    if (typeof context.body === 'string')
      context.body = REPAIRS.reduce((page, [from, to]) => page.replace(from, to), context.body);
  });
  return provider;
}

/** What the pages of oidc-provider lack of the look of the service. */
const STYLE = `<style>${PALETTE}body { background: var(--page); color: var(--text); } main > div { background: var(--card) !important; }
main input { background: var(--card) !important; color: inherit; border-color: var(--line) !important; }
main button[type=submit]:not([name=abort]) { background: var(--accent) !important; color: var(--on-accent); text-shadow: none; }
main a, main .help button { color: var(--accent) !important; opacity: 1 !important; } p.red { color: var(--alert) !important; }
</style></head>`;

/** Pages of oidc-provider: without what their policy forbids and what is for debugging, in the colours of the service, accessible. */
const REPAIRS: readonly [RegExp, string][] = [
  [/@import url\([^)]*\);| onfocus="[^"]*"|<div class="grant-debug">[^]*<\/details>\s*<\/div>/g, ''],
  [/<html *>/, '<html lang="en">'],
  [/<\/head>/, STYLE],
  [/<body>([^]*)<\/body>/, '<body><main>$1</main></body>'],
  [/<\/li>(\s*<ul>[^]*?<\/ul>)/g, '$1</li>'],
];

/** Advice of oidc-provider for its developers, which would be in the output of the service. */
const ADVICE = /oidc-provider (NOTICE|WARNING): (default .* function called|a quick start development-only)/;

for (const level of ['info', 'warn'] as const) {
  const write = console[level].bind(console);
  console[level] = (...given: unknown[]) => {
    if (!ADVICE.test(String(given[0]))) write(...given);
  };
}

function configuration(options: ProviderOptions, clientsById: ReadonlyMap<string, Client>): Configuration {
  const { clients, keys, findPerson } = options;
  const { baseUrl: issuer, corsOrigins, scopes } = options.config;
  const cookiePath = new URL(issuer).pathname.replace(/\/*$/, '');
  return {
    // For 600 s, the response to an expired device code is `expired_token` (RFC 8628 §3.5) and not `invalid_grant`.
    adapter: createMemoryAdapter(600),
    claims: { openid: ['sub'], profile: ['name', 'given_name', 'family_name'], email: ['email'] },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    // A page of the service itself sends its origin too.
    clientBasedCORS: (_context, origin) => [...corsOrigins, new URL(issuer).origin].includes(origin),
    clients: clients.map(clientMetadata),
    // There is no userinfo, so the ID token has the claims.
    conformIdTokenClaims: false,
    cookies: {
      keys: keys.cookieKeys,
      // The path restricts the session to the provider: no other part of the service receives this cookie.
      long: { httpOnly: true, sameSite: 'lax', path: `${cookiePath}/oauth2` },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    features: features(options, clientsById),
    findAccount: async (_context, id) => {
      const person = await findPerson(id);
      return person === null ? undefined : { accountId: person.sub, claims: () => person };
    },
    formats: { customizers: { jwt: describeOwner(findPerson, clientsById) } },
    // OpenID Connect requires a prompt for `offline_access`. Plain OAuth clients only register the grant type.
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    jwks: keys.jwks,
    pkce: { required: () => true },
    responseTypes: ['code'],
    routes: {
      authorization: '/oauth2/authorize',
      token: '/oauth2/token',
      introspection: '/oauth2/introspect',
      revocation: '/oauth2/revoke',
      jwks: '/oauth2/jwks',
      device_authorization: '/oauth2/device_authorization',
      code_verification: '/oauth2/device',
      end_session: '/oauth2/logout',
    },
    scopes: providerScopes(scopes),
  };
}

function features(
  options: ProviderOptions,
  clientsById: ReadonlyMap<string, Client>,
): NonNullable<Configuration['features']> {
  return {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true },
    dPoP: { enabled: false },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => options.config.baseUrl,
      getResourceServerInfo: ({ oidc }, resource, client) =>
        resourceServer(options.config, oidc, resource, clientsById.get(client.clientId)),
      useGrantedResource: () => true,
    },
    revocation: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    userinfo: { enabled: false },
  };
}

type DescribeToken = NonNullable<NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']>;

/** Adds the owner of the client to a token that a client has for itself. */
function describeOwner(findPerson: FindPerson, clientsById: ReadonlyMap<string, Client>): DescribeToken {
  return async (_context, token, { payload }) => {
    if (token.kind !== 'ClientCredentials') return;
    // By this claim the service distinguishes such a token from one that acts for a user.
    payload['gty'] = 'client-credentials';
    // Without an owner, the subject remains the client itself (RFC 9068 §2.2), and the token has no user.
    const owner = clientsById.get(token.clientId ?? '')?.owner ?? null;
    // Each request checks whether the directory has the owner, because users change while a token is valid.
    if (owner !== null) payload['sub'] = (await findPerson(owner))?.sub ?? owner;
  };
}

/**
 * Defines access tokens. oidc-provider calls this function in every flow, with the client and its requested scopes, so that it
 * selects the scopes too: those that the client does not have are ignored, and the response names the others (RFC 6749 §3.3).
 */
function resourceServer(
  { auth, baseUrl: issuer, scopes }: ProviderOptions['config'],
  oidc: OIDCContext,
  resource: string,
  client: Client | undefined,
): ResourceServer {
  const [audience] = auth.audiences;
  const own = [issuer, `${issuer}/`, audience];
  if (!own.includes(resource)) throw new InvalidTarget('resource must be this service');
  const allowed = new Set(client?.scope.split(' '));
  const requested = [...oidc.requestParamScopes];
  const granted = requested.filter((scope) => allowed.has(scope)).join(' ');
  if (requested.length > 0 && granted === '')
    throw new InvalidScope('the client has none of the requested scopes', requested.join(' '));
  if (oidc.params !== undefined && requested.length > 0) oidc.params['scope'] = granted;
  return {
    scope: providerScopes(scopes).join(' '),
    audience,
    accessTokenTTL: 3600,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'RS256' } },
  };
}

/**
 * Makes every link begin with the issuer. By default links begin with the host and path of the request, which
 * a proxy may have changed and a client may have forged. Cookies are secure when the issuer uses https.
 */
function useIssuerForLinks(provider: Provider, issuer: string): void {
  provider.OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options);
  Object.defineProperty(provider.request, 'protocol', { value: new URL(issuer).protocol.slice(0, -1) });
}

/** Accepts an id of the directory in any spelling as a login. The page of oidc-provider accepts every text. */
function acceptKnownPeople(provider: Provider, findPerson: FindPerson): void {
  const finish = provider.interactionFinished.bind(provider);
  provider.interactionFinished = async (request, response, result, options) => {
    if (result.login === undefined) return finish(request, response, result, options);
    const { accountId } = result.login as { accountId?: unknown };
    const person = typeof accountId === 'string' ? await findPerson(accountId.trim()) : null;
    if (person === null) throw new InvalidRequest('no user of the directory has this id');
    const login = { ...result.login, accountId: person.sub };
    return finish(request, response, { ...result, login }, options);
  };
}
