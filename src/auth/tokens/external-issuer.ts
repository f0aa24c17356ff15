import type { JSONWebKeySet, JWK } from 'jose';
import { Logger } from '@nestjs/common';
import { z } from 'zod';
import type { IntrospectionConfig } from '../../config/settings/auth.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import { LATEST_INSTANT } from './jwt.js';
import { weaknessOf } from './weak-keys.js';

/** Milliseconds that the issuer has for an answer. */
const TIMEOUT = 2500;
/** Bytes: a key set or an introspection is far smaller. */
const LARGEST_ANSWER = 1_000_000;

const Metadata = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  introspection_endpoint: z.url().optional(),
});
type Metadata = z.infer<typeof Metadata>;

/** RFC 7517 §5. A set that nothing can be verified with is no answer: what is known is better. */
const KeySet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
  .refine(({ keys }) => keys.some(({ kty }) => ['RSA', 'EC', 'OKP'].includes(kty)));

const NumericDate = z.number().max(LATEST_INSTANT);

/** RFC 7662 §2.2, the members that count here. Anything but a literal `true` is not active. */
export const Introspection = z.object({
  active: z.json().transform((active) => active === true),
  scope: z.string().optional(),
  client_id: z.string().optional(),
  sub: z.string().optional(),
  exp: NumericDate.optional(),
  nbf: NumericDate.optional(),
  iat: NumericDate.optional(),
  iss: z.string().optional(),
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  // Not of RFC 7662, or not held to it: what they are is for the reader to judge.
  token_type: z.unknown().optional(),
  token_use: z.unknown().optional(),
  typ: z.unknown().optional(),
  at_hash: z.unknown().optional(),
  c_hash: z.unknown().optional(),
  cnf: z.unknown().optional(),
  gty: z.unknown().optional(),
  grant_type: z.unknown().optional(),
});
export type Introspection = z.infer<typeof Introspection>;

/** Speaks HTTP with the issuer that AUTH_URL names: discovery, keys, introspection. */
export class ExternalIssuer {
  private metadata: Metadata | null = null;
  /** Lines about keys that are ignored: each is logged once. */
  private readonly logged = new Set<string>();
  private readonly logger = new Logger('Authentication');

  constructor(
    private readonly issuer: string,
    private readonly introspection: IntrospectionConfig | null,
  ) {}

  get canIntrospect(): boolean {
    return this.introspection !== null;
  }

  /** The issuer's current public keys, without those that are too weak to believe. */
  async fetchKeys(): Promise<JSONWebKeySet> {
    const { jwks_uri } = await this.discover();
    try {
      const { keys } = await request(jwks_uri, {}, KeySet);
      return { keys: keys.filter((key) => !this.isWeak(key)) };
    } catch (error) {
      // The issuer may have moved them: the next attempt asks where they are.
      this.metadata = null;
      throw error;
    }
  }

  private isWeak(key: JWK): boolean {
    const weakness = weaknessOf(key);
    if (weakness === null) return false;
    const line = `A key of the identity provider is ignored: ${weakness}`;
    if (!this.logged.has(line)) this.logger.warn(line);
    this.logged.add(line);
    return true;
  }

  /**
   * Asks the issuer about an opaque token (RFC 7662).
   * @throws ServiceUnavailableError when the issuer gives no answer that can be understood
   */
  async introspect(token: string): Promise<Introspection> {
    try {
      const endpoint = this.introspection?.url ?? (await this.discover()).introspection_endpoint;
      if (endpoint === undefined) throw new Error('No introspection endpoint');
      return await request(
        endpoint,
        {
          method: 'POST',
          headers: authorizationOf(this.introspection?.client ?? null),
          body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
        },
        Introspection,
      );
    } catch (error) {
      throw new ServiceUnavailableError('The identity provider cannot be reached at the moment', {
        cause: error,
      });
    }
  }

  /** The issuer's metadata (OpenID Connect Discovery 1.0 §4), asked for once it has been had. */
  async discover(): Promise<Metadata> {
    if (this.metadata !== null) return this.metadata;
    const metadata = await request(`${this.issuer}/.well-known/openid-configuration`, {}, Metadata);
    // §4.3: otherwise anybody's metadata could stand in for the issuer's.
    if (metadata.issuer.replace(/\/+$/, '') !== this.issuer)
      throw new Error('The metadata is of another issuer');
    this.metadata = metadata;
    return metadata;
  }
}

/** RFC 7662 §2.1 asks for some way to keep strangers out: where it is the network, there are no credentials. */
function authorizationOf(client: IntrospectionConfig['client']): Record<string, string> {
  if (client === null) return {};
  const credentials = [client.clientId, client.clientSecret].map(encodeForm).join(':');
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

async function request<Schema extends z.ZodType>(
  url: string,
  init: RequestInit,
  schema: Schema,
): Promise<z.output<Schema>> {
  const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT) });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The issuer answered ${response.status}`);
  }
  return schema.parse(JSON.parse(await readText(response)));
}

/** Reads no more than an answer may have, however much is sent. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > LARGEST_ANSWER) throw new Error('The answer of the issuer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** RFC 6749 §2.3.1: both parts are form-urlencoded before they are joined. */
function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
