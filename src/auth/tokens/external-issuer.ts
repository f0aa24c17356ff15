import { once } from 'node:events';
import { type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import type { JSONWebKeySet, JWK } from 'jose';
import { Logger } from '@nestjs/common';
import { z } from 'zod';
import { codeOf } from '../../common/finding.js';
import type { AuthConfig, IntrospectionConfig } from '../../config/settings/auth.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import { weaknessOf } from './weak-keys.js';

const TIMEOUT_MS = 2500;
/** A key set or an introspection is far smaller. */
const MAX_RESPONSE_BYTES = 1_000_000;

const Metadata = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  introspection_endpoint: z.url().optional(),
});
type Metadata = z.infer<typeof Metadata>;

/** RFC 7517 §5. A set without usable keys is an error, so that the known keys stay. */
const KeySet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
  .refine(({ keys }) => keys.some(({ kty }) => ['RSA', 'EC', 'OKP'].includes(kty)));

/** Every value of `active` but `true` means not active (RFC 7662 §2.2). The other members are judged like claims. */
const Introspection = z.looseObject({ active: z.json().transform((active) => active === true) });
export type Introspection = z.infer<typeof Introspection>;

/** HTTP client of the issuer that AUTH_URL names: discovery, keys, introspection. */
export class ExternalIssuer {
  private metadata: Metadata | null = null;
  /** Warnings about ignored keys. Each is logged once. */
  private readonly logged = new Set<string>();
  private readonly logger = new Logger('Authentication');

  constructor(
    private readonly issuer: string,
    private readonly config: Pick<AuthConfig, 'introspection' | 'certificates'>,
  ) {}

  get canIntrospect(): boolean {
    return this.config.introspection !== null;
  }

  /** The current public keys of the issuer, without the weak ones. */
  async fetchKeys(): Promise<JSONWebKeySet> {
    const { jwks_uri } = await this.discover();
    try {
      const { keys } = await this.request(jwks_uri, KeySet);
      const strong = keys.filter((key) => !this.isWeak(key));
      if (strong.length === 0) throw new Error('All keys of the identity provider are weak');
      return { keys: strong };
    } catch (error) {
      // The issuer may have moved them, so the next attempt starts with discovery.
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
    const { certificates } = this.config;
    const body = form === null ? null : String(form);
    const headers: Record<string, string | number> = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...authorization,
    };
    if (body !== null) {
      headers['content-type'] = 'application/x-www-form-urlencoded';
      headers['content-length'] = Buffer.byteLength(body);
    }
    const ca = certificates === null ? {} : { ca: certificates };
    const options = { ...ca, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const response = await exchange(new URL(url), headers, body, options);
    const isEncoded = (response.headers['content-encoding'] ?? 'identity') !== 'identity';
    if (response.statusCode !== 200 || isEncoded) {
      response.destroy();
      throw new Error(`The issuer answered ${isEncoded ? 'with compressed data' : response.statusCode}`);
    }
    return schema.parse(JSON.parse(await readText(response)));
  }
}

/** RFC 7662 §2.1 requires some protection of the endpoint. If the network protects it, there are no credentials. */
function authorizationOf(client: IntrospectionConfig['client']): Record<string, string> {
  if (client === null) return {};
  const credentials = [client.clientId, client.clientSecret].map(encodeForm).join(':');
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Sends a GET, or a POST with the form. Redirects are not followed. */
async function exchange(
  url: URL,
  headers: Readonly<Record<string, string | number>>,
  form: string | null,
  options: { readonly ca?: string; readonly signal: AbortSignal },
): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? sendHttps : sendHttp;
  const request = send(url, { ...options, method: form === null ? 'GET' : 'POST', headers }).end(form);
  // An error after the response, such as the end of the time, is one of the response too.
  request.on('error', () => undefined);
  try {
    const [response] = (await once(request, 'response', options)) as [IncomingMessage];
    return response;
  } catch (error) {
    // The issuer has closed a connection that waited for its next request.
    if (request.reusedSocket && codeOf(error) === 'ECONNRESET') return exchange(url, headers, form, options);
    throw error;
  }
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
