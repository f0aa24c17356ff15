// An OpenID provider in a process of its own, which represents an external issuer such as Ory Hydra in tests.
//
//   node test/support/servers/issuer.mjs [--port 0] [--issuer URL]   prints {"issuer":URL,"port":PORT} when it is ready
//
// Its issuer URL is http://127.0.0.1:PORT, or that of --issuer behind a proxy.
//
// {issuer}/oauth2/token, /oauth2/introspect, /oauth2/jwks, /.well-known/openid-configuration
//
// | client            | secret         |                                                              |
// |-------------------|----------------|--------------------------------------------------------------|
// | jwt-client        | jwt-secret     | client credentials, access tokens are JWTs (RFC 9068)        |
// | opaque-client     | opaque-secret  | client credentials, access tokens are opaque                 |
// | directory-service | service-secret | the API itself: only for introspection (RFC 7662)            |
//
// Scopes: profile, read, directory, write. Audience: urn:test:directory. A token expires after an hour. Its subject is
// the `owner` of its client, or else the client. A token request can set another subject (`sub`) and audience (`aud`).
//
// Endpoints for tests, each with an optional JSON body:
//   POST /test/rotate[?drop=true]  sign with a new key from now on; drop unpublishes the old ones
//   POST /test/sign                {access_token} with this {header?, payload?, stranger?: true}: members replace
//                                  those of a valid token, null removes one, a string replaces the part. The key is that
//                                  of the header's alg, by default RS256; a stranger's key is not published
//   POST /test/opaque[?token=…]    {access_token} for which introspection returns this body, and the audience unless
//                                  it contains `aud`; null removes it
//   POST /test/publish             sign with this private JWK from now on, for its alg; the other keys stay published
//   POST /test/respond             return this {status?, headers?, body?, times?} for all paths except /test
//   POST /test/pause               the same with 503
//   POST /test/resume              end both
//   GET  /test/requests            {path: number of requests}
import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { InvalidScope } from 'oidc-provider/lib/helpers/errors.js';
import { Provider } from 'oidc-provider/lib/provider.js';

const AUDIENCE = 'urn:test:directory';
const SCOPE = 'profile read directory write';
/** Seconds. */
const HOUR = 3600;

const clients = new Map();
const artifacts = new Map();
const opaqueResponses = new Map();
const requests = {};
/** Replaces all responses; null: nothing. */
let override = null;
let keys = await createKeys();

addClient({ client_id: 'jwt-client', client_secret: 'jwt-secret' });
addClient({ client_id: 'opaque-client', client_secret: 'opaque-secret', format: 'opaque' });
addClient({ client_id: 'directory-service', client_secret: 'service-secret', grant_types: [] });

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, issuer: { type: 'string' } },
});
const server = createServer();
await new Promise((resolve) => server.listen(Number(values.port), '127.0.0.1', resolve));
const { port } = server.address();
const issuer = values.issuer ?? `http://127.0.0.1:${port}`;
let handle = createHandler();
server.on('request', (request, response) => {
  const { pathname, searchParams } = new URL(request.url, issuer);
  if (pathname.startsWith('/test/')) {
    answerTest(pathname.slice('/test/'.length), searchParams, request, response);
    return;
  }
  requests[pathname] = (requests[pathname] ?? 0) + 1;
  if (override === null) {
    handle(request, response);
    return;
  }
  const { status = 200, headers = {}, body = '', times = 1 } = override;
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body.repeat(times));
});
console.log(JSON.stringify({ issuer, port }));

/** One key per algorithm, RS256 first. */
function createKeys() {
  return Promise.all(['RS256', 'ES256', 'EdDSA'].map(createKey));
}

async function createKey(alg) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, use: 'sig', alg, kid: await calculateJwkThumbprint(jwk) };
}

function addClient({ owner = null, format = 'jwt', ...metadata }) {
  clients.set(metadata.client_id, {
    owner,
    format,
    metadata: {
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      scope: SCOPE,
      ...metadata,
    },
  });
}

/** The first key signs, and all are published. Everything else persists across rotations. */
function createHandler() {
  const provider = new Provider(issuer, {
    adapter: (model) => (model === 'Client' ? { find: findClient } : artifactsOf(model)),
    clientAuthMethods: ['client_secret_basic'],
    cookies: { keys: ['unused'] },
    extraTokenClaims: ({ oidc }, { clientId }) => ({
      sub: oidc.body?.sub ?? clients.get(clientId)?.owner ?? clientId,
    }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: describeApi,
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    formats: {
      customizers: {
        jwt: (_context, token, { payload }) => {
          payload.sub = token.extra.sub;
        },
      },
    },
    jwks: { keys },
    responseTypes: ['code'],
    routes: {
      authorization: '/oauth2/auth',
      introspection: '/oauth2/introspect',
      jwks: '/oauth2/jwks',
      token: '/oauth2/token',
    },
    scopes: SCOPE.split(' '),
    ttl: { ClientCredentials: HOUR },
  });
  provider.use(async (context, next) => {
    await next();
    if (context.path !== '/oauth2/introspect' || context.body?.active !== false) return;
    context.body = opaqueResponses.get(context.oidc.params.token) ?? context.body;
  });
  return provider.callback();
}

function describeApi({ oidc }, _resource, { clientId, scope }) {
  for (const word of oidc.requestParamScopes) {
    if (!scope.split(' ').includes(word)) throw new InvalidScope('requested scope is not allowed', word);
  }
  const { format } = clients.get(clientId);
  return {
    scope: SCOPE,
    audience: oidc.body?.aud ?? AUDIENCE,
    accessTokenTTL: HOUR,
    accessTokenFormat: format,
    ...(format === 'jwt' ? { jwt: { sign: { alg: 'RS256' } } } : {}),
  };
}

async function findClient(id) {
  return clients.get(id)?.metadata;
}

function artifactsOf(model) {
  return {
    upsert: async (id, payload) => void artifacts.set(`${model} ${id}`, payload),
    find: async (id) => artifacts.get(`${model} ${id}`),
    destroy: async (id) => void artifacts.delete(`${model} ${id}`),
  };
}

async function answerTest(action, parameters, request, response) {
  const answer = (body, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  try {
    if (request.method === 'GET' && action === 'requests') {
      answer(requests);
      return;
    }
    const act = ACTIONS[action];
    if (request.method !== 'POST' || act === undefined) {
      answer({ error: 'not_found' }, 404);
      return;
    }
    const body = request.headers['content-length'] > 0 ? await json(request) : {};
    answer((await act(body, parameters)) ?? {});
  } catch (error) {
    answer({ error: error.message }, 500);
  }
}

const ACTIONS = {
  async rotate(_body, parameters) {
    keys = [...(await createKeys()), ...(parameters.get('drop') === 'true' ? [] : keys)];
    handle = createHandler();
    return { kid: keys[0].kid };
  },

  publish(jwk) {
    keys = [jwk, ...keys];
    handle = createHandler();
  },

  async sign({ header = {}, payload = {}, stranger = false }) {
    const jwk = stranger ? await createKey('RS256') : (keys.find(({ alg }) => alg === header.alg) ?? keys[0]);
    const now = Math.floor(Date.now() / 1000);
    const good = {
      iss: issuer,
      aud: AUDIENCE,
      sub: 'jwt-client',
      client_id: 'jwt-client',
      iat: now,
      exp: now + HOUR,
      jti: randomUUID(),
      scope: 'read',
    };
    const signed = [
      encode({ alg: jwk.alg, typ: 'at+jwt', kid: jwk.kid }, header),
      encode(good, payload),
    ].join('.');
    return { access_token: `${signed}.${signatureOf(jwk, signed)}` };
  },

  opaque(body, parameters) {
    const token = parameters.get('token') ?? randomUUID();
    const { aud = AUDIENCE, ...rest } = body;
    opaqueResponses.set(token, aud === null ? rest : { aud, ...rest });
    return { access_token: token };
  },

  respond(body) {
    override = body;
  },

  pause() {
    override = { status: 503, headers: { 'retry-after': '1' } };
  },

  resume() {
    override = null;
  },
};

/** Signed by hand, because libraries refuse to sign invalid tokens. */
function encode(good, changes) {
  const text = typeof changes === 'string' ? changes : JSON.stringify(withoutNulls({ ...good, ...changes }));
  return Buffer.from(text).toString('base64url');
}

function signatureOf(jwk, signed) {
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const hash = jwk.alg === 'EdDSA' ? null : 'sha256';
  return sign(hash, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

function withoutNulls(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
