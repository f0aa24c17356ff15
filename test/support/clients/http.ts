import { type Agent, type IncomingHttpHeaders, request as startRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ERROR_CODES } from '../../../src/common/errors.js';
import type { Config } from '../../../src/config/config.js';

/** Anything with a host and a port. */
export interface Listening {
  readonly config: Pick<Config, 'host' | 'port'>;
}

export interface HttpRequest {
  method?: string;
  /** The request target. */
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** An agent that keeps connections; without one, each request has a connection of its own. */
  agent?: Agent;
  /** The local address, of the loopback interface. */
  localAddress?: string;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Sends a request unchanged: unlike fetch, with any header, and without additional ones. */
export function send({ config }: Listening, { body, agent, ...request }: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const { host, port } = config;
    const options = { host, port, path: '/graphql/v1', ...request, agent: agent ?? false };
    const sent = startRequest(options, (response) => {
      text(response).then(
        (received) =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends an operation, or any other body, by POST. */
export function post(
  service: Listening,
  body: unknown,
  headers: HttpRequest['headers'] = {},
  agent?: Agent,
): Promise<HttpAnswer> {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const request = { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: bytes };
  return send(service, agent === undefined ? request : { ...request, agent });
}

/** Sends an operation by GET. */
export function get(
  service: Listening,
  parameters: Record<string, string>,
  headers: HttpRequest['headers'] = {},
): Promise<HttpAnswer> {
  return send(service, { path: `/graphql/v1?${new URLSearchParams(parameters).toString()}`, headers });
}

/** Writes bytes to the socket of the service, and reads until it is closed: for input that is not a valid request. */
export function sendBytes({ config }: Listening, bytes: string): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(config.port, config.host, () => socket.write(bytes));
    text(socket).then((received) => {
      const [head = '', body = ''] = received.split('\r\n\r\n');
      const [statusLine = '', ...lines] = head.split('\r\n');
      const fields = lines.map((line) => line.split(/: /, 2) as [string, string]);
      const headers = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
      resolve({ status: Number(statusLine.split(' ')[1]), headers, body });
    }, reject);
  });
}

interface GraphQLBody {
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions: Record<string, unknown> & { code: string; requestId: string } }[];
}

export function dataOf({ body }: HttpAnswer): GraphQLBody['data'] {
  const { data, errors } = JSON.parse(body) as GraphQLBody;
  expect(errors).toBeUndefined();
  return data;
}

const BEARER = /^(Bearer realm="directory".*), Basic realm="directory", charset="UTF-8"$/;

/** A Bearer challenge without the Basic challenge that is beside each one. Another one as it is. */
export function challengeOf(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('Bearer')) return value ?? null;
  expect(value).toMatch(BEARER);
  return BEARER.exec(value)?.[1];
}

/** Words that only internals contain: stacks, paths, statements, frameworks. */
export const INTERNALS =
  /node_modules|\.(js|ts):\d|stack|fst_|statusCode|fastify|nest|apollo|typeorm|select /i;

/**
 * Returns status and code of an error response, after checking the form of every error: no data, a code of the list, the request
 * id of the header, and no internals.
 */
export function refusalOf({ status, headers, body }: HttpAnswer): [status: number, code: string] {
  const { data, errors = [] } = JSON.parse(body) as GraphQLBody;
  const [error] = errors;
  if (error === undefined) throw new Error(`${status} is no refusal: ${body.slice(0, 200)}`);
  expect(headers['content-type']).toMatch(/^application\/(graphql-response\+)?json; charset=utf-8$/);
  expect(data ?? null).toBeNull();
  expect(body).not.toMatch(INTERNALS);
  for (const { message, extensions } of errors) {
    expect(message).not.toBe('');
    expect(ERROR_CODES).toContain(extensions.code);
    expect(extensions.requestId).toMatch(/^[\w.:-]{1,64}$/);
    expect(extensions.requestId).toBe(headers['x-request-id']);
  }
  return [status, error.extensions.code];
}

/** Gets an access token of the embedded provider for a client whose secret is `{id}-secret`. */
export async function requestToken(baseUrl: string, client: string, scope: string): Promise<string> {
  const response = await fetch(`${baseUrl}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client}:${client}-secret`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return `Bearer ${token}`;
}
