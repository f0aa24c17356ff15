import { once } from 'node:events';
import { type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import { Injectable } from '@nestjs/common';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import { ServiceUnavailableError } from '../../common/errors.js';
import type { AuthConfig } from '../../config/settings/auth.js';
import { Limit } from '../../limits/limits.js';

const TIMEOUT_MS = 2500;
/** A key set or an introspection is far smaller. */
const MAX_RESPONSE_LENGTH = 1_000_000;

const Metadata = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  introspection_endpoint: z.url().optional(),
});
type Metadata = z.infer<typeof Metadata>;

/** RFC 7517 §5. A set without usable keys is an error, so that the known keys stay. Of RSA, jose rejects short keys. */
const KeySet = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string() }))
    .refine((keys) => keys.some(({ kty }) => kty !== 'oct'), 'The identity provider has no usable keys'),
});

/** Every value of `active` but `true` means not active (RFC 7662 §2.2). The other members are judged like claims. */
const Introspection = z.looseObject({ active: z.json().transform((active) => active === true) });

const unreachable = (cause: unknown) =>
  new ServiceUnavailableError('The identity provider cannot be reached at the moment', { cause });

/** HTTP client of the issuer that AUTH_URL names: discovery, keys, introspection. */
export class ExternalIssuer {
  /** Finds the key of a token. Throws ServiceUnavailableError if the keys cannot be fetched at the moment. */
  readonly find = keysOf(() => this.fetchKeys());
  private metadata: Metadata | null = null;

  constructor(
    private readonly issuer: string,
    private readonly config: Pick<AuthConfig, 'introspection' | 'certificates'>,
  ) {}

  get canIntrospect(): boolean {
    return this.config.introspection !== null;
  }

  /** The current public keys of the issuer. */
  async fetchKeys(): Promise<JSONWebKeySet> {
    // The issuer may have moved them.
    this.metadata = null;
    const { jwks_uri } = await this.discover();
    return this.request(jwks_uri, KeySet);
  }

  /** Introspects an opaque token (RFC 7662). Throws ServiceUnavailableError without a valid response. */
  async introspect(token: string): Promise<z.infer<typeof Introspection>> {
    const { url = null, client = null } = this.config.introspection ?? {};
    try {
      const endpoint = url ?? (await this.discover()).introspection_endpoint;
      if (endpoint === undefined) throw new Error('No introspection endpoint');
      const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
      // If the network protects the endpoint (RFC 7662 §2.1), there is no client.
      return await this.request(
        endpoint,
        Introspection,
        form,
        client && [client.clientId, client.clientSecret],
      );
    } catch (error) {
      // The issuer may have moved its endpoint.
      if (url === null) this.metadata = null;
      throw unreachable(error);
    }
  }

  /** The metadata of the issuer (OpenID Connect Discovery 1.0 §4), kept until something is wrong or keys are read. */
  async discover(): Promise<Metadata> {
    if (this.metadata !== null) return this.metadata;
    const metadata = await this.request(`${this.issuer}/.well-known/openid-configuration`, Metadata);
    // §4.3: otherwise the metadata of another issuer could replace it.
    if (metadata.issuer.replace(/\/+$/, '') !== this.issuer)
      throw new Error('The metadata is of another issuer');
    this.metadata = metadata;
    return metadata;
  }

  /** On a connection of its own, because one that waits for its next request may be closed. Redirects are not followed. */
  private async request<Schema extends z.ZodType>(
    url: string,
    schema: Schema,
    form?: URLSearchParams,
    credentials: readonly string[] | null = null,
  ): Promise<z.output<Schema>> {
    const { certificates } = this.config;
    const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
    const options = {
      agent: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: form ? { ...headers, 'content-type': 'application/x-www-form-urlencoded' } : headers,
      method: form ? 'POST' : 'GET',
      ...(credentials !== null && { auth: credentials.map(encodeForm).join(':') }),
      ...(certificates !== null && { ca: certificates }),
    };
    const send = new URL(url).protocol === 'https:' ? sendHttps : sendHttp;
    const request = send(url, options).end(form?.toString());
    // An error after the response, such as the end of the time, is one of the response too.
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { 'content-encoding': encoding = 'identity' } = response.headers;
    if (response.statusCode !== 200 || encoding !== 'identity') {
      response.destroy();
      const what = encoding === 'identity' ? response.statusCode : 'with compressed data';
      throw new Error(`The issuer answered ${what}`);
    }
    let text = '';
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
      text += chunk;
      if (text.length > MAX_RESPONSE_LENGTH) throw new Error('The answer of the issuer is too large');
    }
    return schema.parse(JSON.parse(text));
  }
}

/** RFC 6749 §2.3.1: both parts are form-urlencoded before they are joined. */
function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/** Age up to which keys are used: so long a withdrawn one stays valid, and the issuer may be away. */
const MAX_AGE_MS = 3_600_000;
/** The limit for any tokens of clients and any responses of the issuer. */
const FETCHES_PER_MINUTE = 3;

/**
 * Finds the keys of an external issuer, which jose keeps. A token with an unknown key causes a fetch. If it fails, the error is
 * SERVICE_UNAVAILABLE, because the token may be valid.
 * @param clock milliseconds since any instant
 */
export function keysOf(
  fetchKeys: () => Promise<JSONWebKeySet>,
  clock: () => number = () => performance.now(),
): JWTVerifyGetKey {
  const fetches = new Limit('issuer-keys', FETCHES_PER_MINUTE, 60, clock);
  // The address is not used: `fetchKeys` finds it in the metadata of the issuer.
  const remote = createRemoteJWKSet(new URL('https://issuer.invalid/'), {
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: 0,
    [customFetch]: async () => {
      if (!fetches.take('', 1).isTaken)
        throw new ServiceUnavailableError('The key of this token is not known yet: try again shortly');
      return Response.json(await fetchKeys());
    },
  });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      const isAboutToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported;
      throw isAboutToken || error instanceof ServiceUnavailableError ? error : unreachable(error);
    }
  };
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
