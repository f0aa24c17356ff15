// Signs a user in through the browser, and prints who that is: npm install openid-client && node sign-in.mjs
// The client is public; `demo-app` is that of the embedded provider.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as oidc from 'openid-client';

const { SERVICE_URL: url = 'http://127.0.0.1:3000', ISSUER = url, CLIENT_ID = 'demo-app' } = process.env;
// Only an identity provider on the same machine may be without TLS.
const isLocal = ['127.0.0.1', 'localhost'].includes(new URL(ISSUER).hostname);
const provider = await oidc.discovery(new URL(ISSUER), CLIENT_ID, undefined, oidc.None(), {
  execute: isLocal ? [oidc.allowInsecureRequests] : [],
});

async function signIn(scope) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const redirect = `http://127.0.0.1:${server.address().port}/callback`;
  const [verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
  const address = oidc.buildAuthorizationUrl(provider, {
    redirect_uri: redirect,
    scope,
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  console.error(`Open ${address}`);
  const [request, response] = await once(server, 'request');
  response.setHeader('Connection', 'close').end('You can close this page.');
  server.close();
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
  return oidc.authorizationCodeGrant(provider, new URL(request.url, redirect), checks);
}

let tokens = await signIn('openid profile email read');

/** Sends a query with a deadline. After 401 it gets another token, once; after 429, 503 and lost connections it tries again. */
async function send(query, variables) {
  let isRenewed = false;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${url}/graphql/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(30_000),
    }).catch((error) => (attempt < 10 ? null : Promise.reject(error)));
    if (response?.status === 401 && tokens.refresh_token && !isRenewed) {
      isRenewed = true;
      tokens = { ...tokens, ...(await oidc.refreshTokenGrant(provider, tokens.refresh_token)) };
    } else if (attempt === 10 || (response && response.status !== 429 && response.status !== 503)) {
      const { data, errors } = await response.json();
      if (errors) throw new Error(`${errors[0].extensions.code}: ${errors[0].message}`);
      return data;
    } else {
      const seconds = (Number(response?.headers.get('retry-after')) || attempt) + Math.random();
      await sleep(seconds * 1000);
    }
  }
}

console.log(tokens.claims());
console.log(await send('{ profile { name schoolYear groups(first: 1) { totalCount } } }'));
