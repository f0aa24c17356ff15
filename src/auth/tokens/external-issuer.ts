import { once } from 'node:events';
import { type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import type { JSONWebKeySet, JWK } from 'jose';
import { Logger } from '@nestjs/common';
import { z } from 'zod';
import type { AuthConfig, IntrospectionConfig } from '../../config/settings/auth.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import { weaknessOf } from './issuer-keys.js';

const TIMEOUT_MS = 2500;
/** A key set or an introspection is far smaller. */
const MAX_RESPONSE_BYTES = 1_000_000;

const Metadata = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  introspection_endpoint: z.url().optional(),
});
type Metadata = z.infer<typeof Metadata>;

/** RFC 7517 §5. */
const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** Every value of `active` but `true` means not active (RFC 7662 §2.2). The other members are judged like claims. */
const Introspection = z.looseObject({ active: z.json().transform((active) => active === true) });
export type Introspection = z.infer<typeof Introspection>;

/** HTTP client of the issuer that AUTH_URL names: discovery, keys, introspection. */
export class ExternalIssuer {
  private metadata: Metadata | null = null;
  private readonly logger = new Logger('Authentication');

  constructor(
    private readonly issuer: string,
    private readonly config: Pick<AuthConfig, 'introspection' | 'certificates'>,
  ) {}

  get canIntrospect(): boolean {
    return this.config.introspection !== null;
  }

  /** The current public keys of the issuer, without the weak ones. A set without usable keys is an error, so that the known keys stay. */
  async fetchKeys(): Promise<JSONWebKeySet> {
    const { jwks_uri } = await this.discover();
    try {
      const { keys } = await this.request(jwks_uri, KeySet);
      const usable = keys.filter((key) => ['RSA', 'EC', 'OKP'].includes(key.kty) && !this.isWeak(key));
      if (usable.length === 0) throw new Error('The identity provider has no usable keys');
      return { keys: usable };
    } catch (error) {
      // The issuer may have moved them, so the next attempt starts with discovery.
      this.metadata = null;
      throw error;
    }
  }

  private isWeak(key: JWK): boolean {
    const weakness = weaknessOf(key);
    if (weakness !== null) this.logger.warn(`A key of the identity provider is ignored: ${weakness}`);
    return weakness !== null;
  }

  /** Introspects an opaque token (RFC 7662). Throws ServiceUnavailableError without a valid response. */
  async introspect(token: string): Promise<Introspection> {
    const { introspection } = this.config;
    try {
      const endpoint = introspection?.url ?? (await this.discover()).introspection_endpoint;
      if (endpoint === undefined) throw new Error('No introspection endpoint');
      const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
      return await this.request(
        endpoint,
        Introspection,
        form,
        authorizationOf(introspection?.client ?? null),
      );
    } catch (error) {
      // As for keys: the issuer may have moved its endpoint.
      if ((introspection?.url ?? null) === null) this.metadata = null;
      throw new ServiceUnavailableError('The identity provider cannot be reached at the moment', {
        cause: error,
      });
    }
  }

  /** The metadata of the issuer (OpenID Connect Discovery 1.0 §4), fetched once. */
  async discover(): Promise<Metadata> {
    if (this.metadata !== null) return this.metadata;
    const metadata = await this.request(`${this.issuer}/.well-known/openid-configuration`, Metadata);
    // §4.3: otherwise the metadata of another issuer could replace it.
    if (metadata.issuer.replace(/\/+$/, '') !== this.issuer)
      throw new Error('The metadata is of another issuer');
    this.metadata = metadata;
    return metadata;
  }

  private async request<Schema extends z.ZodType>(
    url: string,
    schema: Schema,
    form: URLSearchParams | null = null,
    authorization: Record<string, string> = {},
  ): Promise<z.output<Schema>> {
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', ...authorization };
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = form === null ? headers : { ...headers, ...type };
    const response = await this.send(new URL(url), sent, form?.toString());
    const isEncoded = (response.headers['content-encoding'] ?? 'identity') !== 'identity';
    if (response.statusCode !== 200 || isEncoded) {
      response.destroy();
      throw new Error(`The issuer answered ${isEncoded ? 'with compressed data' : response.statusCode}`);
    }
    return schema.parse(JSON.parse(await readText(response)));
  }

  /** On a connection of its own, because one that waits for its next request may be closed. Redirects are not followed. */
  private async send(url: URL, headers: Record<string, string>, body?: string): Promise<IncomingMessage> {
    const method = body === undefined ? 'GET' : 'POST';
    const { certificates } = this.config;
    const ca = certificates === null ? {} : { ca: certificates };
    const options = { ...ca, method, headers, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const request = (url.protocol === 'https:' ? sendHttps : sendHttp)(url, options).end(body);
    // An error after the response, such as the end of the time, is one of the response too.
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }
}

/** RFC 7662 §2.1 requires some protection of the endpoint. If the network protects it, there are no credentials. */
function authorizationOf(client: IntrospectionConfig['client']): Record<string, string> {
  if (client === null) return {};
  const credentials = [client.clientId, client.clientSecret].map(encodeForm).join(':');
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw new Error('The answer of the issuer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** RFC 6749 §2.3.1: both parts are form-urlencoded before they are joined. */
function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
