import { once } from 'node:events';
import { type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import { Injectable } from '@nestjs/common';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import { ServiceUnavailableError } from '../../common/errors.js';
import type { AuthConfig } from '../../config/settings/auth.js';
import { Limit } from '../../limits/limits.js';

const TIMEOUT_MS = 2500;

const Metadata = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  introspection_endpoint: z.url().optional(),
});

/** RFC 7517 §5. A set without usable keys is an error, so that the known keys stay. Of RSA, jose rejects short keys. */
const KeySet = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string() }))
    .refine((keys) => keys.some(({ kty }) => kty !== 'oct'), 'The identity provider has no usable keys'),
});

/** Every value of `active` but `true` means not active (RFC 7662 §2.2). The other members are judged like claims. */
const Introspection = z.looseObject({ active: z.json().transform((active) => active === true) });

/** Characters of a response. A key set or an introspection is far smaller. */
const LONGEST_RESPONSE = 1_000_000;

/** HTTP client of the issuer that AUTH_URL names: discovery, keys, introspection. */
export class ExternalIssuer {
  /** Finds the key of a token. Throws ServiceUnavailableError if the keys cannot be fetched at the moment. */
  readonly find = keysOf(() => this.fetchKeys());

  constructor(
    private readonly issuer: string,
    readonly config: Pick<AuthConfig, 'introspection' | 'certificates'>,
  ) {}

  async fetchKeys(): Promise<JSONWebKeySet> {
    return this.request((await this.discover()).jwks_uri, KeySet);
  }

  /** Introspects an opaque token (RFC 7662). Throws ServiceUnavailableError without a valid response. */
  async introspect(token: string): Promise<z.infer<typeof Introspection>> {
    try {
      const endpoint = this.config.introspection?.url ?? (await this.discover()).introspection_endpoint;
      if (endpoint === undefined) throw new Error('No introspection endpoint');
      return await this.request(endpoint, Introspection, token);
    } catch (error) {
      throw unreachable(error);
    }
  }

  /** The metadata of the issuer (OpenID Connect Discovery 1.0 §4). They are not kept, because the issuer may move what they name. */
  async discover(): Promise<z.infer<typeof Metadata>> {
    const metadata = await this.request(`${this.issuer}/.well-known/openid-configuration`, Metadata);
    // §4.3: otherwise the metadata of another issuer could replace it.
    if (metadata.issuer.replace(/\/+$/, '') !== this.issuer)
      throw new Error('The metadata is of another issuer');
    return metadata;
  }

  /** On a connection of its own, because one that waits for its next request may be closed. Redirects are not followed. */
  private async request<Schema extends z.ZodType>(
    url: string,
    schema: Schema,
    introspected?: string,
  ): Promise<z.output<Schema>> {
    const { certificates, introspection } = this.config;
    const client = introspection?.client;
    const options = {
      agent: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: 'application/json' },
      ...(certificates !== null && { ca: certificates }),
      ...(introspected !== undefined && {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
        // Without a client if the network protects the endpoint (RFC 7662 §2.1). RFC 6749 §2.3.1 encodes both parts.
        auth: client && [client.clientId, client.clientSecret].map(encodeForm).join(':'),
      }),
    };
    const body = introspected && `token_type_hint=access_token&token=${encodeForm(introspected)}`;
    const send = new URL(url).protocol === 'https:' ? sendHttps : sendHttp;
    const request = send(url, options).end(body);
    // An error after the response, such as the end of the time, is one of the response too.
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>)
      if ((text += chunk).length > LONGEST_RESPONSE) throw new Error('The answer of the issuer is too large');
    if (response.statusCode === 200) return schema.parse(JSON.parse(text));
    throw new Error(`The issuer answered ${response.statusCode}`);
  }
}

function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

function unreachable(cause: unknown): ServiceUnavailableError {
  return new ServiceUnavailableError('The identity provider cannot be reached at the moment', { cause });
}

/** Age up to which keys are used: so long a withdrawn one stays valid, and the issuer may be away. */
const MAX_AGE_MS = 3_600_000;
/** The limit for any tokens of clients and any responses of the issuer. */
const FETCHES_PER_MINUTE = 3;

/**
 * Finds the keys of an external issuer, which jose keeps. A token with an unknown key causes a fetch. If it fails, the error is
 * SERVICE_UNAVAILABLE, because the token may be valid.
 */
export function keysOf(fetchKeys: () => Promise<JSONWebKeySet>, clock?: () => number): JWTVerifyGetKey {
  const fetches = new Limit('issuer-keys', FETCHES_PER_MINUTE, 60, clock);
  // The address is not used: `fetchKeys` finds it in the metadata of the issuer.
  return createRemoteJWKSet(new URL('https://issuer.invalid/'), {
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: 0,
    [customFetch]: async () => {
      if (!fetches.take('', 1).isTaken)
        throw new ServiceUnavailableError('The key of this token is not known yet: try again shortly');
      const keys = await fetchKeys().catch((error: unknown) => {
        throw unreachable(error);
      });
      return Response.json(keys);
    },
  });
}

/** The public keys of the embedded provider, so that this process sends no HTTP requests to itself. */
@Injectable()
export class EmbeddedIssuer {
  /** Null if there is none, or if it has not started. */
  find: JWTVerifyGetKey | null = null;

  publish(jwks: JSONWebKeySet): void {
    this.find = createLocalJWKSet(jwks);
  }
}
