import type { TestService } from '../servers/service.js';
import { type HttpAnswer, type HttpRequest, send, sendBytes } from './http.js';

const QUERY = '{__typename}';
const JSON_HEADERS = { 'content-type': 'application/json' };
const post = (body: unknown, headers: Record<string, string> = {}): HttpRequest => ({
  method: 'POST',
  headers: { ...JSON_HEADERS, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** Requests with a secret, in positions where some clients send one, and in wrong positions. */
function requestsWith(secret: string): { around: HttpRequest[]; within: HttpRequest[] } {
  const encoded = encodeURIComponent(secret);
  const inHead: Record<string, string>[] = [
    { authorization: `Bearer ${secret}` },
    { authorization: `Basic ${Buffer.from(`${secret}:${secret}`).toString('base64')}` },
    { authorization: `Digest ${secret}` },
    { authorization: secret },
    { cookie: `session=${secret}` },
    { origin: `https://${encoded}.example` },
    { accept: `text/${encoded}` },
    { 'content-type': `text/${encoded}` },
    { 'x-forwarded-for': encoded },
    { 'user-agent': encoded, referer: `https://x.example/?access_token=${encoded}` },
    { 'x-long': encoded.padEnd(17_000, 'x') },
  ];
  const paths = [
    `/graphql/v1?query=${QUERY}&access_token=${encoded}`,
    `/graphql/v1/${encoded}`,
    `/graphql/v1/%zz${encoded}`,
    `/graphql/v1?query=${QUERY}&x=${encoded.padEnd(9000, 'x')}`,
    `/${encoded}`,
    `/photo/v1/anna?expires=9999999999&signature=${encoded}`,
    `/picture/v1/${encoded}?expires=1&signature=${'a'.repeat(64)}`,
    `/photo/v1/%zz?signature=${encoded}`,
    `/_health?token=${encoded}`,
    `/_readiness?token=${encoded}`,
    `/metrics?token=${encoded}`,
    `/.well-known/openid-configuration?token=${encoded}`,
    `/oauth2/authorize?client_id=${encoded}&login_hint=${encoded}`,
    `/interaction/${encoded}`,
  ];
  const documents = [
    { query: `{ ${JSON.stringify(secret)} }` },
    { query: `{ user(user: {id: ${JSON.stringify(secret)}}) { id name } }` },
    { query: `{ user(user: {name: ${JSON.stringify(secret)}}) { id } }` },
    { query: `{ groups(first: ${JSON.stringify(secret)}) { totalCount } }` },
    { query: 'query ($first: Int) { groups(first: $first) { totalCount } }', variables: { first: secret } },
    {
      query: 'query ($after: String) { groups(first: 1, after: $after) { totalCount } }',
      variables: { after: secret },
    },
    { query: 'query a { __typename }', operationName: secret },
    { query: QUERY, extensions: { authorization: secret }, [secret]: secret },
    { query: `mutation { updateProfile(input: {name: ${JSON.stringify(secret)}}) { preview { ldif } } }` },
  ];
  const bodies = [
    `{"query": ${secret}}`,
    `{"query":"${QUERY}","__proto__":"${encoded}"}`,
    encoded.padEnd(100_001, 'x'),
  ];
  const form = new URLSearchParams({
    client_id: secret,
    client_secret: secret,
    grant_type: 'password',
    password: secret,
  });
  const around = [
    ...inHead.map((headers) => post({ query: QUERY }, headers)),
    ...paths.map((path) => ({ path })),
    ...bodies.map((body) => post(body)),
    { method: 'PUT', path: `/graphql/v1?token=${encoded}` },
    {
      method: 'POST',
      path: '/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    },
  ];
  return { around, within: documents.map((document) => post(document)) };
}

/** Responses to requests with a secret. */
export interface Answered {
  /** The secret was outside the operation: in the URL, in headers, in bytes that are not a request. */
  readonly around: HttpAnswer[];
  /** The secret was a part of the operation, so that an error message may contain it. */
  readonly within: HttpAnswer[];
}

/**
 * Sends a secret in all positions.
 * @param authorization of a permitted client, so that the request is executed
 */
export async function sendEverywhere(
  service: Pick<TestService, 'config'>,
  secret: string,
  authorization: string,
): Promise<Answered> {
  const sendAll = (requests: HttpRequest[]) =>
    Promise.all(
      requests.flatMap((request) => [
        send(service, request),
        send(service, { ...request, headers: { authorization, ...request.headers } }),
      ]),
    );
  const { around, within } = requestsWith(secret);
  const line = encodeURIComponent(secret);
  const unreadable = await sendBytes(service, `GET /?token=${line} HTTP/1.1\r\n${line}\r\n\r\n`);
  return { around: [...(await sendAll(around)), unreadable], within: await sendAll(within) };
}
