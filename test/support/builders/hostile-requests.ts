import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { HttpRequest } from '../clients/http.js';
import { HOSTILE_DOCUMENTS, repeat } from './hostile-documents.js';

/** A malicious request. */
export interface HostileRequest {
  readonly name: string;
  /** @param turn makes the request differ from earlier ones, so that no response is cached */
  readonly build: (turn: number) => HttpRequest;
}

const QUERY = '{ __typename }';
/** Ten megabytes of zeros, compressed to ten kilobytes. */
const BOMB = Buffer.from(`{"query":"${' '.repeat(10_000_000)}${QUERY}"}`);
const GZIPPED = gzipSync(BOMB);

function post(
  name: string,
  body: string | Buffer | ((turn: number) => string),
  headers: Record<string, string> = {},
): HostileRequest {
  return {
    name,
    build: (turn) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'function' ? body(turn) : body,
    }),
  };
}

/** A valid document with undeclared variables, as JSON. */
function withVariables(name: string, variables: string): HostileRequest {
  return post(name, (turn) => `{"query":"#${turn}\\n${QUERY}","variables":${variables}}`);
}

function coded(name: string, coding: string, body: Buffer): HostileRequest {
  return post(`${name}, as «${coding}»`, body, { 'content-encoding': coding });
}

function get(name: string, path: string, headers: Record<string, string | string[]> = {}): HostileRequest {
  return { name, build: () => ({ path, headers }) };
}

const DOCUMENTS = HOSTILE_DOCUMENTS.map(({ name, query, ...rest }) =>
  post(name, (turn) => JSON.stringify({ query: `#${turn}\n${query}`, ...rest })),
);

const JSON_TEXTS: HostileRequest[] = [
  post('lists 49,000 deep', `${'['.repeat(49_000)}${']'.repeat(49_000)}`),
  post('objects 16,000 deep', `${'{"a":'.repeat(16_000)}1${'}'.repeat(16_000)}`),
  post('a text that never ends', `"${'\\u0041'.repeat(16_000)}`),
  post('one number of 99,000 digits', '9'.repeat(99_000)),
  post('nothing', ''),
  post('null', 'null'),
  post('a batch of 1,000', `[${repeat(1000, `{"query":"${QUERY}"}`, ',')}]`),
  post('9,000 times the same member', `{${repeat(9000, '"query":""', ',')}}`),
  post('half of a surrogate pair', `{"query":"${QUERY} #\\ud83d"}`),
  withVariables('variables that are a list', `[${repeat(20_000, '1', ',')}]`),
  post('NUL', `{"query":"${QUERY}"\u0000}`),
  post('bytes that are not UTF-8', Buffer.from(`{"query":"${QUERY} #\xc0\x80"}`, 'latin1')),
  post('UTF-16', Buffer.from(`{"query":"${QUERY}"}`, 'utf16le')),
  post('one byte too many', `{"query":"${QUERY}"}`.padEnd(100_001)),
  post('a megabyte', ' '.repeat(1_000_000)),
];

const REQUESTS: HostileRequest[] = [
  coded('a bomb', 'gzip', GZIPPED),
  coded('a bomb', 'br', brotliCompressSync(BOMB)),
  coded('a bomb in a bomb', 'gzip, gzip', gzipSync(GZIPPED)),
  coded('a bomb without its content coding', 'identity', GZIPPED),
  post('a form', `query=${encodeURIComponent(QUERY)}`, {
    'content-type': 'application/x-www-form-urlencoded',
  }),
  post('an upload', '--x\r\n\r\n--x--', { 'content-type': 'multipart/form-data; boundary=x' }),
  post('another charset', `{"query":"${QUERY}"}`, { 'content-type': 'application/json; charset=utf-7' }),
  post('15,000 parameters of a type', '{}', {
    'content-type': `application/json${';a'.repeat(5000)};charset=x`,
  }),
  get('a URL of 8,193 bytes', `/graphql/v1?query=${QUERY.replaceAll(' ', '+')}&x=`.padEnd(8193, 'x')),
  get('2,000 parameters of one name', `/graphql/v1?${repeat(700, 'query=a', '&')}`),
  get(
    'deep variables in a URL',
    `/graphql/v1?query={__typename}&variables=${'['.repeat(4000)}${']'.repeat(4000)}`,
  ),
  get('a mutation in a URL', '/graphql/v1?query=mutation{__typename}'),
  get('an answer of no type that there is', '/graphql/v1?query={__typename}', {
    accept: repeat(2000, 'a/b', ','),
  }),
  { name: 'an unknown method', build: () => ({ method: 'PROPFIND', body: ' '.repeat(99_000) }) },
];

export const HOSTILE_REQUESTS: readonly HostileRequest[] = [...DOCUMENTS, ...JSON_TEXTS, ...REQUESTS];
