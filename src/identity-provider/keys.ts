import { randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JSONWebKeySet, type JWK } from 'jose';

/** What the embedded provider keeps in the database, so that tokens and sessions of browsers outlive a restart. */
export interface ProviderKeys {
  /** Private keys; the first that fits an algorithm signs. */
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Keys of the cookies' signatures; the first signs, all verify. */
  readonly cookieKeys: readonly string[];
}

/** The access tokens are signed with the first. The other lets clients be tried that want elliptic curves. */
const ALGORITHMS = ['RS256', 'ES256'];

/** The members of a JWK that everybody may know (RFC 7517 §4, RFC 7518 §6). */
const PUBLIC_MEMBERS = ['kty', 'use', 'alg', 'kid', 'n', 'e', 'crv', 'x', 'y'] as const;

export async function createKeys(): Promise<ProviderKeys> {
  return {
    jwks: { keys: await Promise.all(ALGORITHMS.map(createSigningKey)) },
    cookieKeys: [randomBytes(32).toString('base64url')],
  };
}

/** The key set that verifies what these keys sign. */
export function publicKeys({ jwks }: ProviderKeys): JSONWebKeySet {
  return { keys: jwks.keys.map(publicKey) };
}

async function createSigningKey(alg: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, use: 'sig', alg, kid: await calculateJwkThumbprint(jwk) };
}

function publicKey(key: JWK): JSONWebKeySet['keys'][number] {
  const members = PUBLIC_MEMBERS.filter((name) => key[name] !== undefined).map((name) => [name, key[name]]);
  return Object.fromEntries(members) as JSONWebKeySet['keys'][number];
}
