import { randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JSONWebKeySet, type JWK } from 'jose';

/** Keys of the embedded provider. The database stores them, so that tokens and sessions survive a restart. */
export interface ProviderKeys {
  /** Private keys. The first one that supports an algorithm signs. */
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Keys of the signatures of cookies. The first one signs, all verify. */
  readonly cookieKeys: readonly string[];
}

/** The first algorithm signs access tokens. The other one is for clients that require elliptic curves. */
const ALGORITHMS = ['RS256', 'ES256'];

/** The public members of a JWK (RFC 7517 §4, RFC 7518 §6). */
const PUBLIC_MEMBERS = ['kty', 'use', 'alg', 'kid', 'n', 'e', 'crv', 'x', 'y'] as const;

export async function createKeys(): Promise<ProviderKeys> {
  return {
    jwks: { keys: await Promise.all(ALGORITHMS.map(createSigningKey)) },
    cookieKeys: [randomBytes(32).toString('base64url')],
  };
}

/** Returns the key set that verifies signatures of these keys. */
export function publicKeys({ jwks }: ProviderKeys): JSONWebKeySet {
  return {
    keys: jwks.keys.map((key) => {
      const members = PUBLIC_MEMBERS.filter((name) => key[name] !== undefined);
      return Object.fromEntries(members.map((name) => [name, key[name]]));
    }),
  };
}

async function createSigningKey(alg: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, use: 'sig', alg, kid: await calculateJwkThumbprint(jwk) };
}
