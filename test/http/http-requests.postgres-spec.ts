import { dataOf, get, post, refusalOf, send, sendBytes } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const QUERY = '{ buildInfo { __typename } }';
const ANSWER = { buildInfo: { __typename: 'BuildInfo' } };
const TWO = 'query one { a: __typename } query two { b: __typename }';
const MUTATION = 'mutation { updateProfile(input: {name: "A"}) { profile { name } } }';
const WITH_VARIABLE = 'query ($yes: Boolean!) { __typename @include(if: $yes) }';

const service = TestService.forSuite();

describe('a request by POST', () => {
  it('has query, operationName, variables and extensions, the last three of which can be null', async () => {
    expect(dataOf(await post(service, { query: TWO, operationName: 'two' }))).toEqual({ b: 'Query' });
    expect(dataOf(await post(service, { query: WITH_VARIABLE, variables: { yes: true } }))).toEqual({
      __typename: 'Query',
    });
    const nulls = { query: QUERY, operationName: null, variables: null, extensions: null };
    expect(dataOf(await post(service, nulls))).toEqual(ANSWER);
    expect(dataOf(await post(service, { query: QUERY, operationName: '' }))).toEqual(ANSWER);
  });

  it('may have extensions and unknown members, which are ignored', async () => {
    const extensions = { persistedQuery: null, tracing: true };
    expect(dataOf(await post(service, { query: QUERY, extensions, unknown: [1] }))).toEqual(ANSWER);
    expect(refusalOf(await post(service, { extensions }))).toEqual([400, 'BAD_REQUEST']);
  });

  it('is UTF-8 without a charset, or with UTF-8 in any spelling', async () => {
    for (const type of [
      'application/json',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'Application/JSON ; Charset="utf-8"',
      'application/json;charset=utf8',
      'application/json;',
      'application/json; profile=x; charset=utf-8',
    ]) {
      const answer = await post(service, { query: '{ é: __typename }' }, { 'content-type': type });
      // The name is invalid in GraphQL, and its error repeats the character as it was read.
      expect([type, answer.status]).toEqual([type, 400]);
      expect(answer.body).toContain('U+00E9');
    }
  });

  it('is rejected with 415 for a body in another charset, coding or type, or without a type', async () => {
    const wrong: Record<string, string>[] = [
      { 'content-type': 'application/json; charset=iso-8859-1' },
      { 'content-type': 'application/json; charset=utf-8; charset=utf-16' },
      { 'content-type': 'application/json; charset = utf-16' },
      { 'content-type': 'application/graphql' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/jsonx' },
      { 'content-type': '' },
      { 'content-encoding': 'gzip' },
    ];
    for (const headers of wrong) {
      const answer = await post(service, { query: QUERY }, headers);
      expect([headers, ...refusalOf(answer)]).toEqual([headers, 415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
    const untyped = await send(service, { method: 'POST', body: JSON.stringify({ query: QUERY }) });
    expect(refusalOf(untyped)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  it.each([
    ['nothing', ''],
    ['invalid JSON', '{"query":'],
    ['a JSON text with more text after it', '{"query":"{ __typename }"} {}'],
    ['null', 'null'],
    ['a number', '1'],
    ['a text', '"{ __typename }"'],
    ['a batch', '[{"query":"{ __typename }"}]'],
    ['an empty object', '{}'],
    ['an empty query', '{"query":""}'],
    ['a query that is null', '{"query":null}'],
    ['a query that is a number', '{"query":1}'],
    ['a query that is a document', '{"query":{"kind":"Document","definitions":[]}}'],
    ['an operationName that is a number', '{"query":"{ __typename }","operationName":1}'],
    ['variables in a text', '{"query":"{ __typename }","variables":"{}"}'],
    ['variables in an array', '{"query":"{ __typename }","variables":[]}'],
    ['extensions in a text', '{"query":"{ __typename }","extensions":"x"}'],
    ['extensions in an array', '{"query":"{ __typename }","extensions":[]}'],
    ['a prototype', '{"query":"{ __typename }","__proto__":{"x":1}}'],
    ['a prototype among its variables', '{"query":"{ __typename }","variables":{"__proto__":{"x":1}}}'],
    ['a constructor', '{"query":"{ __typename }","constructor":{"prototype":{"x":1}}}'],
    ['a prototype with an escape', '{"query":"{ __typename }","\\u005f_proto__":{"x":1}}'],
    ['duplicate keys', '{"query":"{ a: __typename }","query":"{ b: __typename }"}'],
    ['duplicate keys with an escape', '{"query":"{ __typename }","qu\\u0065ry":"{ __typename }"}'],
    ['nested duplicate keys', '{"query":"{ __typename }","variables":{"a":[{"b":1,"c":":","b":2}]}}'],
    ['NUL in its query', '{"query":"{ __typename #\\u0000 }"}'],
    ['bytes that are not UTF-8', Buffer.from('{"query":"{ __typename #\xff }"}', 'latin1')],
    ['UTF-16', Buffer.from('{"query":"{ __typename }"}', 'utf16le')],
  ])('is rejected with 400 if its body is, or has, %s', async (_what, body) => {
    expect(refusalOf(await post(service, body))).toEqual([400, 'BAD_REQUEST']);
  });

  it('ignores parameters in the URL', async () => {
    const path = '/graphql/v1?query=%7B%20a%3A%20__typename%20%7D&query=x';
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query: QUERY });
    expect(dataOf(await send(service, { method: 'POST', path, headers, body }))).toEqual(ANSWER);
  });
});

describe('a request by GET', () => {
  it('has query, operationName, and variables and extensions as JSON', async () => {
    expect(dataOf(await get(service, { query: TWO, operationName: 'two' }))).toEqual({ b: 'Query' });
    const extensions = JSON.stringify({ clientLibrary: { name: 'x' } });
    const answer = await get(service, {
      query: WITH_VARIABLE,
      variables: '{"yes":true}',
      extensions,
      more: 'x',
    });
    expect(dataOf(answer)).toEqual({ __typename: 'Query' });
    const empty = { query: QUERY, variables: '', operationName: '', extensions: 'null' };
    expect(dataOf(await get(service, empty))).toEqual(ANSWER);
  });

  it('needs no header, and accepts headers that have no meaning for GET', async () => {
    expect(dataOf(await get(service, { query: QUERY }, { 'content-type': 'text/plain' }))).toEqual(ANSWER);
    expect(dataOf(await get(service, { query: QUERY }, { cookie: 'session=1' }))).toEqual(ANSWER);
  });

  it.each([
    ['no query', ''],
    ['an empty query', 'query='],
    ['variables that are not JSON', 'query={__typename}&variables={'],
    ['variables in an array', 'query={__typename}&variables=[]'],
    ['variables in a text', 'query={__typename}&variables=%22x%22'],
    ['variables with duplicate keys', 'query={__typename}&variables={"a":1,"a":1}'],
    ['variables with a prototype', 'query={__typename}&variables={"__proto__":{}}'],
    ['extensions that are not JSON', 'query={__typename}&extensions=x'],
    ['two queries', 'query={__typename}&query={__typename}'],
    ['two operation names', 'query={__typename}&operationName=a&operationName=b'],
  ])('is rejected with 400 if it has %s', async (_what, parameters) => {
    const answer = await send(service, { path: `/graphql/v1?${parameters}` });
    expect(refusalOf(answer)).toEqual([400, 'BAD_REQUEST']);
  });

  it('is accepted with any encoding of the path, and with the absolute form of the target', async () => {
    const query = encodeURIComponent(QUERY);
    for (const path of [`/graphql/v%31?query=${query}`, `http://other.example/graphql/v1?query=${query}`]) {
      const answer = await send(service, { path });
      expect(dataOf(answer)).toEqual(ANSWER);
      expect(answer.headers.ratelimit).toContain('"requests"');
    }
  });

  it('can only contain a query: a mutation or a subscription causes 405, also with unknown fields', async () => {
    for (const query of ['mutation { deleteGroup { preview } }', 'subscription { changes }']) {
      const answer = await get(service, { query });
      expect(refusalOf(answer)).toEqual([405, 'METHOD_NOT_ALLOWED']);
      expect(answer.headers.allow).toBe('POST');
    }
  });
});

describe('a response', () => {
  it('has the media type that Accept prefers, with the same statuses in both', async () => {
    const json = 'application/json; charset=utf-8';
    const graphQL = 'application/graphql-response+json; charset=utf-8';
    for (const [accept, type] of [
      ['*/*', json],
      ['application/*', json],
      ['application/json', json],
      ['application/json; charset=utf-8', json],
      ['application/graphql-response+json', graphQL],
      ['application/graphql-response+json, application/json;q=0.9', graphQL],
      ['application/graphql-response+json;q=0.5, application/json', json],
      ['text/html, application/json;q=0.1', json],
    ] as const) {
      for (const [query, status] of [
        [QUERY, 200],
        ['{', 400],
        ['', 400],
      ] as const) {
        const answer = await post(service, { query }, { accept });
        expect([accept, answer.status, answer.headers['content-type']]).toEqual([accept, status, type]);
      }
    }
  });

  it('is rejected with 406 if neither type is accepted', async () => {
    for (const accept of ['text/html', 'application/json;q=0', 'application/xml, text/*']) {
      expect(refusalOf(await post(service, { query: QUERY }, { accept }))).toEqual([406, 'NOT_ACCEPTABLE']);
      expect(refusalOf(await get(service, { query: QUERY }, { accept }))).toEqual([406, 'NOT_ACCEPTABLE']);
    }
  });

  it('has the request id of the client if it is well-formed, and otherwise a new one', async () => {
    const own = await get(service, { query: QUERY }, { 'x-request-id': 'trace:1.a_b-c' });
    expect(own.headers['x-request-id']).toBe('trace:1.a_b-c');
    for (const id of ['a b', 'x'.repeat(65), '<script>', '']) {
      const answer = await get(service, { query: '{' }, { 'x-request-id': id });
      expect(refusalOf(answer)).toEqual([400, 'GRAPHQL_PARSE_FAILED']);
      expect(answer.headers['x-request-id']).not.toBe(id);
    }
  });
});

/** Responses with errors other than an invalid document, and their statuses. */
const REPEATED: [what: string, status: number, body: Record<string, unknown>][] = [
  ['data', 200, { query: QUERY }],
  ['data with an error', 200, { query: '{ group(group: {id: "nobody"}) { name } }' }],
  [
    'withheld and other fields',
    200,
    { query: '{ changes(first: 1) { totalCount } buildInfo { __typename } }' },
  ],
  ['withheld fields only', 403, { query: '{ changes(first: 1) { totalCount } }' }],
  ['an invalid page size', 400, { query: '{ search(query: "a", first: 101) { totalCount } }' }],
  [
    'too many aliases',
    400,
    { query: `{ ${'a'.repeat(31).replace(/a/g, (a, at) => `${a}${at}: __typename `)} }` },
  ],
  ['an unknown operation name', 400, { query: TWO, operationName: 'three' }],
  ['one of two operations', 400, { query: TWO }],
  ['invalid variables', 400, { query: WITH_VARIABLE, variables: { yes: 'yes' } }],
  ['missing variables', 400, { query: WITH_VARIABLE }],
  ['a mutation without its scope', 403, { query: MUTATION }],
];

describe('a repeated document', () => {
  it.each(REPEATED)('has the same response as the first time: %s', async (_what, status, body) => {
    const authorization = await service.accessToken('read');
    // A unique document.
    const query = `${String(body['query'])} # again`;
    const sendRequest = async (method: 'GET' | 'POST') => {
      const headers = { authorization, 'x-request-id': 'the-same' };
      const answer = await (method === 'POST'
        ? post(service, { ...body, query }, headers)
        : get(
            service,
            {
              ...(body as Record<string, string>),
              query,
              variables: JSON.stringify(body['variables'] ?? {}),
            },
            headers,
          ));
      const { date: _date, ratelimit: _ratelimit, ...rest } = answer.headers;
      return { ...answer, headers: rest };
    };
    const [first, again] = [await sendRequest('POST'), await sendRequest('POST')];
    expect(first.status).toBe(status);
    expect(again).toEqual(first);
    const byGet = await sendRequest('GET');
    expect(byGet).toEqual(query.startsWith('mutation') ? expect.objectContaining({ status: 405 }) : first);
  });
});

describe('an invalid HTTP request', () => {
  it.each([
    [
      'headers above the limit of Node.js',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      431,
    ],
    ['text that is not HTTP', 'HELLO\r\n\r\n', 400],
    ['a broken header', 'GET / HTTP/1.1\r\nHost x\r\n\r\n', 400],
  ])('is rejected with a GraphQL error: %s', async (_what, bytes, status) => {
    const code = status === 431 ? 'PAYLOAD_TOO_LARGE' : 'BAD_REQUEST';
    expect(refusalOf(await sendBytes(service, bytes))).toEqual([status, code]);
  });
});
