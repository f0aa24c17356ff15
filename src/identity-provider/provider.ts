import { createLocalJWKSet, jwtVerify } from 'jose';
import type { Client as RegisteredClient, Configuration, OIDCContext, ResourceServer } from 'oidc-provider';
import { InvalidScope, InvalidTarget } from 'oidc-provider/lib/helpers/errors.js';
import { Provider } from 'oidc-provider/lib/provider.js';
import { type Client, clientMetadata, providerScopes } from './clients.js';
import { type DeviceCodes, deviceFlowPages, renderError, signOutPages } from './pages/flow-pages.js';
import { interactionPath, SignIn, type SignInOptions } from './pages/interaction.js';
import { type ProviderKeys, publicKeys } from './keys.js';
import type { ProviderLogins } from './logins.js';
import { MemoryAdapter } from './memory-adapter.js';
import type { FindPerson } from './people.js';
import { PROTECTED_PATHS } from '../http/challenges.js';
import { ROUTES, answerFaults, answerWrongRequests } from './wrong-requests.js';

const HOUR = 3600;
const DAY = 24 * HOUR;

export interface ProviderOptions extends SignInOptions {
  /** The URL of this service. It may have a path, with which all links of the provider then begin. */
  readonly issuer: string;
  /** The `aud` of access tokens. */
  readonly audience: string;
  readonly clients: readonly Client[];
  readonly corsOrigins: readonly string[];
  readonly keys: ProviderKeys;
  readonly codes: DeviceCodes;
}

/** Builds the OpenID provider. Requests come without the path of the issuer. */
export function buildProvider(options: ProviderOptions): Provider {
  const { issuer, clients, logins, codes } = options;
  const clientsById = new Map(clients.map((client) => [client.client_id, client]));
  const provider = new Provider(issuer, configuration(options, clientsById));
  useIssuerForLinks(provider, issuer);
  judgeSecrets(provider, logins);
  acceptAtUserinfo(provider, options.keys);
  answerFaults(provider);
  answerWrongRequests(provider, logins, codes);
  const signIn = new SignIn(provider, clientsById, options);
  provider.use((context, next) => signIn.handle(context, next));
  return provider;
}

/** Lifetimes in seconds. */
const TTL: Configuration['ttl'] = {
  AccessToken: HOUR,
  AuthorizationCode: 60,
  ClientCredentials: HOUR,
  DeviceCode: 10 * 60,
  Grant: 14 * DAY,
  IdToken: HOUR,
  Interaction: HOUR,
  RefreshToken: 14 * DAY,
  Session: DAY,
};

function configuration(options: ProviderOptions, clientsById: ReadonlyMap<string, Client>): Configuration {
  const { issuer, clients, corsOrigins, keys, findPerson } = options;
  const cookiePath = new URL(issuer).pathname.replace(/\/*$/, '');
  return {
    adapter: (model) => new MemoryAdapter(model),
    claims: { openid: ['sub'], profile: ['name', 'given_name', 'family_name'], email: ['email'] },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientBasedCORS: (_context, origin, client) => mayCall(origin, client, corsOrigins),
    clients: clients.map(clientMetadata),
    cookies: {
      keys: keys.cookieKeys,
      // The path restricts the session to the provider: no other part of the service receives this cookie.
      long: { httpOnly: true, sameSite: 'lax', path: `${cookiePath}/oauth2` },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    features: features(options, clientsById),
    findAccount: async (_context, id) => {
      const person = await findPerson(id);
      if (person === null) return undefined;
      const { id: sub, name, givenName, familyName, email } = person;
      const claims = { sub, name, given_name: givenName, family_name: familyName, email };
      // A claim without a value is left out (OpenID Connect Core §5.3.2).
      const known = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null));
      return { accountId: sub, claims: () => Promise.resolve({ ...known, sub }) };
    },
    formats: { customizers: { jwt: describeOwner(findPerson, clientsById) } },
    interactions: { url: (_context, { uid }) => `${issuer}${interactionPath(uid)}` },
    // OpenID Connect requires a prompt for `offline_access`. Plain OAuth clients only register the grant type.
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    jwks: keys.jwks,
    pkce: { required: () => true },
    renderError,
    responseTypes: ['code'],
    routes: ROUTES,
    scopes: providerScopes(options.scopes),
    ttl: TTL,
  };
}

function features(
  options: ProviderOptions,
  clientsById: ReadonlyMap<string, Client>,
): NonNullable<Configuration['features']> {
  return {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    deviceFlow: {
      enabled: true,
      charset: 'base-20',
      mask: '****-****',
      deviceInfo: () => ({}),
      ...deviceFlowPages(options.codes),
    },
    dPoP: { enabled: false },
    introspection: {
      enabled: true,
      allowedPolicy: (_context, client, token) =>
        client.clientAuthMethod !== 'none' || token.clientId === client.clientId,
    },
    pushedAuthorizationRequests: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => options.issuer,
      getResourceServerInfo: ({ oidc }, resource, client) =>
        resourceServer(options, oidc, resource, clientsById.get(client.clientId)),
      useGrantedResource: () => true,
    },
    revocation: {
      enabled: true,
      allowedPolicy: (_context, { clientId }, token) => token.clientId === clientId,
    },
    rpInitiatedLogout: { enabled: true, ...signOutPages },
    userinfo: { enabled: true },
  };
}

type DescribeToken = NonNullable<NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']>;

/** Adds the owner of the client to a token that a client has for itself. */
function describeOwner(findPerson: FindPerson, clientsById: ReadonlyMap<string, Client>): DescribeToken {
  return async (_context, token, { payload }) => {
    if (token.kind !== 'ClientCredentials') return;
    // By this claim the service distinguishes such a token from one that acts for a user (token-kind.ts).
    payload['gty'] = 'client-credentials';
    // Without an owner, the subject remains the client itself (RFC 9068 §2.2), and the token has no user.
    const owner = clientsById.get(token.clientId ?? '')?.owner ?? null;
    // Each request checks whether the directory has the owner, because users change while a token is valid.
    if (owner !== null) payload['sub'] = (await findPerson(owner))?.id ?? owner;
  };
}

/**
 * Defines access tokens. oidc-provider calls this function in every flow, with the client and its requested scopes, so that it
 * selects the scopes too: those that the client does not have are ignored, and the response names the others (RFC 6749 §3.3).
 */
function resourceServer(
  { issuer, audience, scopes }: ProviderOptions,
  oidc: OIDCContext,
  resource: string,
  client: Client | undefined,
): ResourceServer {
  // The resources of RFC 9728 are paths of this service.
  const own = [issuer, `${issuer}/`, audience, ...PROTECTED_PATHS.map((path) => `${issuer}${path}`)];
  if (!own.includes(resource)) {
    throw new InvalidTarget('resource must be this service');
  }
  const allowed = new Set(client?.scope.split(' '));
  const known = scopes.map(({ name }) => name);
  nameDefaultScope(
    oidc,
    known.filter((scope) => allowed.has(scope)),
  );
  const requested = [...oidc.requestParamScopes];
  const granted = requested.filter((scope) => allowed.has(scope)).join(' ');
  if (requested.length > 0 && granted === '')
    throw new InvalidScope('the client has none of the requested scopes', requested.join(' '));
  if (oidc.params !== undefined && requested.length > 0) oidc.params['scope'] = granted;
  return {
    scope: providerScopes(scopes).join(' '),
    audience,
    accessTokenTTL: HOUR,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'RS256' } },
  };
}

/**
 * Gives a client that acts for itself and names no scope all of its registered scopes. RFC 6749 §3.3 asks a
 * server to document this default. Where a user consents, only the named scopes are requested.
 */
function nameDefaultScope({ params }: OIDCContext, scopes: readonly string[]): void {
  if (params?.['grant_type'] !== 'client_credentials' || params['scope'] !== undefined) return;
  if (scopes.length > 0) params['scope'] = scopes.join(' ');
}

/** Allows cross-origin requests from pages of the client itself, and from the origins that may call the API. */
function mayCall(
  origin: string,
  { redirectUris }: RegisteredClient,
  corsOrigins: readonly string[],
): boolean {
  // `null` means the absence of an origin. The redirect URI of an installed application has it too.
  if (origin === 'null') return false;
  return corsOrigins.includes(origin) || (redirectUris ?? []).some((uri) => new URL(uri).origin === origin);
}

/**
 * Makes every link begin with the issuer. By default links begin with the host and path of the request, which
 * a proxy may have changed and a client may have forged. Cookies are secure when the issuer uses https.
 */
function useIssuerForLinks(provider: Provider, issuer: string): void {
  provider.OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options);
  Object.defineProperty(provider.request, 'protocol', { value: new URL(issuer).protocol.slice(0, -1) });
}

/**
 * Makes an access token of the API with the scope `openid` read userinfo too, because clients request and send one token.
 * oidc-provider does not store JWTs, and refuses a token with an audience there.
 */
function acceptAtUserinfo(provider: Provider, keys: ProviderKeys): void {
  const tokens = provider.AccessToken as unknown as TokenModel;
  const { getValueAndPayload: describe } = (provider.BaseToken as unknown as TokenModel).prototype;
  const { getValueAndPayload: sign } = tokens.prototype;
  tokens.prototype.getValueAndPayload = async function () {
    const { payload } = await describe.call(this);
    return { ...(await sign.call(this)), payload: { ...payload, aud: undefined } };
  };
  const find = tokens.find.bind(tokens);
  const keySet = createLocalJWKSet(publicKeys(keys));
  tokens.find = async (token) => {
    const verified = await jwtVerify(token, keySet, { issuer: provider.issuer, typ: 'at+jwt' }).catch(
      () => null,
    );
    return find(verified?.payload.jti ?? '');
  };
}

/** What the types of oidc-provider leave out of the model of a token. */
interface TokenModel {
  readonly prototype: {
    getValueAndPayload: () => Promise<{ readonly value: string; readonly payload?: object }>;
  };
  find: (token: string) => Promise<unknown>;
}

/**
 * Accepts a secret only by the registered authentication method of the client (RFC 7591 §2), because
 * oidc-provider accepts either method from every client. Rejects every secret of a client after too many
 * wrong ones.
 */
function judgeSecrets(provider: Provider, logins: ProviderLogins): void {
  const clients = provider.Client.prototype;
  const compare = Object.getOwnPropertyDescriptor(clients, 'compareClientSecret')
    ?.value as RegisteredClient['compareClientSecret'];
  clients.compareClientSecret = async function (this: RegisteredClient, secret) {
    const { ctx: context } = Provider;
    if (context === undefined) throw new Error('A secret came without a request');
    const isBasic = context.req.headers.authorization !== undefined;
    const isRegisteredWay = isBasic === (this.clientAuthMethod === 'client_secret_basic');
    const isGood = isRegisteredWay && (await compare.call(this, secret));
    await logins.judge(context, isGood);
    return isGood;
  };
}
