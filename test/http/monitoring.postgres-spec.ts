import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { type CollectedSpan, Collector } from '../support/servers/collector.js';
import { buildLdif } from '../support/builders/directory.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { post, send } from '../support/clients/http.js';
import {
  type MetricFamily,
  readFamilies,
  readMetricsTable,
  readSamples,
} from '../support/clients/metrics.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { requireProgram } from '../support/servers/system-packages.mjs';
import { WatchedService } from '../support/watched-service.js';

const QUERY =
  'query Members { group(group: {id: "club"}) { members(first: 2) { nodes { user { name } } } } }';

type Line = Record<string, unknown>;

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let collector: Collector;
let issuer: ExternalIssuerProcess;
let service: WatchedService;
let metricsPort: number;
let authorization: string;

beforeAll(async () => {
  [collector, issuer, metricsPort] = await Promise.all([
    Collector.start(),
    ExternalIssuerProcess.start(),
    findFreePort(),
  ]);
  service = await WatchedService.start({
    ldif: buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna', 'ben'] }]),
    environment: {
      ...issuer.environment,
      ...collector.environment,
      OTEL_SERVICE_NAME: 'directory-under-test',
      LOG_REQUESTS: 'true',
      LOG_LEVEL: 'debug',
      METRICS_PORT: String(metricsPort),
      // No server listens there.
      DATABASE_READ_URL: 'postgres://directory@127.0.0.1:1/directory',
    },
  });
  authorization = await issuer.opaque({ active: true, scope: 'read', sub: 'anna', client_id: 'x' });
});

afterAll(async () => {
  await service.stop();
  await Promise.all([issuer.stop(), collector.stop()]);
});

function linesOf({ output }: WatchedService): Line[] {
  // The last line may be incomplete.
  return output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
}

async function lineOf(requestId: string): Promise<Line> {
  await service.untilPrinted(new RegExp(`"requestId":"${requestId}".*\n`));
  const [line, ...others] = linesOf(service).filter((each) => each['requestId'] === requestId);
  if (line === undefined || others.length > 0) throw new Error(`There are ${others.length} other lines`);
  return line;
}

const sendRequest = (requestId: string, headers: Record<string, string> = {}, query = QUERY) =>
  post(service, { query }, { authorization, 'x-request-id': requestId, ...headers });

const fetchMetrics = (path = '/metrics', method = 'GET') =>
  send({ config: { host: '127.0.0.1', port: metricsPort } }, { path, method });

describe('the log line of a request', () => {
  it('contains the operation name, the cost and the status', async () => {
    for (const id of ['first', 'second', 'remembered']) expect((await sendRequest(id)).status).toBe(200);
    const known = {
      level: 'info',
      msg: 'request',
      method: 'POST',
      route: '/graphql/v1',
      status: 200,
      operation: 'Members',
      field: 'group',
      principal: 'ACCESS_TOKEN',
      cost: 1,
    };
    const { time, milliseconds, traceId, ...first } = await lineOf('first');
    expect(first).toEqual({ ...known, requestId: 'first', statements: 1 });
    expect(Date.parse(String(time))).toBeGreaterThan(Date.now() - 60_000);
    expect(milliseconds).toBeGreaterThan(0);
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(await lineOf('remembered')).toMatchObject({ ...known, statements: 0 });
  });

  it('contains nothing of the URL, the document and the kind of token', async () => {
    const name = 'a'.repeat(41);
    await sendRequest(
      'long',
      {},
      `query ${name} { user(user: {id: "anna"}) { id } users(first: 1) { totalCount } }`,
    );
    await send(service, { path: '/photo/v1/anna?signature=x', headers: { 'x-request-id': 'photo' } });
    await send(service, { path: '/anna', headers: { 'x-request-id': 'nothing' } });
    expect(await lineOf('long')).toMatchObject({ operation: null, field: 'several', status: 200 });
    expect(await lineOf('photo')).toMatchObject({ route: '/photo/v1/*', status: 400 });
    const { time, milliseconds, traceId, ...nothing } = await lineOf('nothing');
    expect([typeof time, typeof milliseconds, typeof traceId]).toEqual(['string', 'number', 'string']);
    expect(nothing).toEqual({
      level: 'info',
      msg: 'request',
      requestId: 'nothing',
      method: 'GET',
      route: 'none',
      status: 404,
    });
    expect(service.output).not.toMatch(/anna|a{20}/);
  });

  it('is written once with 499 for a connection that closes before the response', async () => {
    const token = await issuer.opaque({ active: true, scope: 'read', sub: 'anna', client_id: 'x' });
    const body = JSON.stringify({ query: QUERY });
    issuer.freeze();
    try {
      const { host, port } = service.config;
      const socket = connect(port, host);
      const head = `POST /graphql/v1 HTTP/1.1\r\nHost: x\r\nX-Request-Id: cut\r\nAuthorization: ${token}`;
      const more = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.write(`${head}\r\n${more}\r\n\r\n${body}`, () => socket.destroy());
      expect(await lineOf('cut')).toMatchObject({ route: '/graphql/v1', method: 'POST', status: 499 });
    } finally {
      issuer.unfreeze();
    }
    // The response is ready by then, and has no recipient.
    expect((await sendRequest('not-cut', { authorization: token })).status).toBe(200);
    await lineOf('not-cut');
    expect(await lineOf('cut')).toMatchObject({ status: 499 });
    const counted = readSamples((await fetchMetrics()).body).filter(({ labels }) => labels['code'] === '499');
    expect(counted.map(({ value }) => value)).toEqual([1]);
  });

  it('has a generated id if that of the client is malformed', async () => {
    for (const id of ['x'.repeat(65), 'a b', 'a"b', 'a\u00e9']) {
      const { headers } = await sendRequest(id);
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      await lineOf(String(headers['x-request-id']));
    }
  });
});

describe('the metrics', () => {
  let text: string;
  let families: MetricFamily[];
  let table: MetricFamily[];

  beforeAll(async () => {
    ({ body: text } = await fetchMetrics());
    families = readFamilies(text);
    table = readMetricsTable();
  });

  it('are available on their own port only', async () => {
    const { status, headers } = await fetchMetrics('/metrics?x=y');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect((await fetchMetrics('/')).status).toBe(404);
    expect((await fetchMetrics('/metrics', 'POST')).status).toBe(405);
    expect((await send(service, { path: '/metrics' })).status).toBe(404);
  });

  it('count requests', async () => {
    const of = (body: string) => (name: string, labels: Record<string, string>) =>
      readSamples(body)
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
        .reduce((sum, { value }) => sum + value, 0);
    const before = of((await fetchMetrics()).body);
    await sendRequest('one-more');
    await sendRequest('two-more', {}, '{ wrong }');
    const after = of((await fetchMetrics()).body);
    const grown = (name: string, labels: Record<string, string>) =>
      after(name, labels) - before(name, labels);
    const route = '/graphql/v1';
    expect(grown('directory_requests_total', { route, operation: 'group', code: '200' })).toBe(1);
    expect(grown('directory_requests_total', { route, operation: 'none', code: '400' })).toBe(1);
    expect(grown('directory_request_duration_seconds_count', { route })).toBe(2);
    expect(grown('directory_request_duration_seconds_bucket', { route, le: '+Inf' })).toBe(2);
    expect(grown('directory_points_total', { operation: 'group' })).toBe(1);
    expect(grown('directory_errors_total', { code: 'GRAPHQL_VALIDATION_FAILED' })).toBe(1);
    expect(grown('directory_cache_hits_total', { cache: 'responses' })).toBe(1);
    expect(after('directory_mirror_entries', { kind: 'users' })).toBe(2);
    expect(after('directory_mirror_state', { state: 'IDLE' })).toBe(1);
    expect(after('directory_mirror_read_revision', {})).toBe(after('directory_mirror_revision', {}));
  });

  it('have no fault that promtool knows', () => {
    const checked = spawnSync(requireProgram('promtool'), ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    expect([checked.status, checked.stdout + checked.stderr]).toEqual([0, '']);
  });

  it('match the table', () => {
    const shown = families.map(({ name, type, help }) => ({ name, type, help }));
    expect(table.map(({ name, type, help }) => ({ name, type, help }))).toEqual(shown);
    const labels = families.filter((family) => family.labels !== null);
    const expected = table.filter(({ name }) => labels.some((family) => family.name === name));
    const ofAll = ['service_name'];
    expect(labels.map((family) => [family.name, family.labels?.filter((label) => label !== 'le')])).toEqual(
      expected.map((family) => [family.name, [...(family.labels ?? []), ...ofAll].sort()]),
    );
  });
});

describe('the alerts and the dashboard', () => {
  it('use existing values of labels', async () => {
    const samples = readSamples((await fetchMetrics()).body);
    const texts = ['alerts.yaml', 'dashboard.json'].map((name) =>
      readFileSync(`deploy/monitoring/${name}`, 'utf8').replaceAll('\\"', '"'),
    );
    const asked = texts.flatMap((text) =>
      [...text.matchAll(/\b((?:directory|nodejs|process)_\w+)\{([^}]*)\}/g)].flatMap(
        ([, metric = '', labels = '']) =>
          [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value = '']) => ({
            metric,
            label,
            value,
          })),
      ),
    );
    const unknown = asked
      .filter(({ label }) => label !== 'service_name')
      .filter(
        ({ metric, label, value }) =>
          !samples.some(({ name, labels }) => name === metric && labels[label] === value),
      );
    expect(asked.length).toBeGreaterThan(30);
    expect(unknown).toEqual([]);
  });
});

describe('a trace', () => {
  it('contains the caller, the operation and its statements, and no personal data', async () => {
    const traceId = 'c0ffee'.padEnd(32, '0');
    const parent = 'beef'.padEnd(16, '0');
    const traceparent = `00-${traceId}-${parent}-01`;
    const query = 'query Traced { user(user: {id: "ben"}) { name } }';
    const { status } = await sendRequest('traced', { traceparent }, query);
    expect(status).toBe(200);
    const statement = await collector.until(
      (span) => span.traceId === traceId && 'directory.statement' in span.attributes,
    );
    expect(statement.name).toMatch(/^select [a-z_]+$/);
    expect(statement.attributes).toMatchObject({
      'db.system.name': 'postgresql',
      'db.query.text': expect.stringContaining('$1') as string,
    });
    const operation = await collector.until(({ spanId }) => spanId === statement.parentSpanId);
    const request = await collector.until(({ spanId }) => spanId === operation.parentSpanId);
    expect([operation.name, operation.attributes]).toEqual([
      'query Traced',
      {
        'graphql.operation.type': 'query',
        'graphql.operation.name': 'Traced',
        'directory.operation.field': 'user',
        'directory.operation.cost': 1,
      },
    ]);
    expect([request.name, request.parentSpanId, request.attributes]).toEqual([
      'POST /graphql/v1',
      parent,
      {
        'http.request.method': 'POST',
        'http.route': '/graphql/v1',
        'http.response.status_code': 200,
        'directory.request.id': 'traced',
      },
    ]);
    expect(request.resource).toMatchObject({
      'service.name': 'directory-under-test',
      'service.version': version,
      'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/) as string,
    });
    expect(await lineOf('traced')).toMatchObject({ traceId });
    expect(collector.received).not.toMatch(/\b(anna|ben)\b/i);
  });

  it('contains the operation of a known document, and of a cached one', async () => {
    const query = 'query Known($id: String!) { user(user: {id: $id}) { id } }';
    const askFor = async (id: string, time: string) => {
      const traceparent = `00-${time.padEnd(32, '0')}-${'2'.repeat(16)}-01`;
      const headers = { authorization, traceparent };
      expect((await post(service, { query, variables: { id } }, headers)).status).toBe(200);
      return collector.until(
        ({ traceId, name }) => traceId === time.padEnd(32, '0') && name.startsWith('POST /'),
      );
    };
    const below = (request: CollectedSpan) =>
      collector.spans.filter(({ parentSpanId }) => parentSpanId === request.spanId).map(({ name }) => name);
    expect(below(await askFor('anna', 'a1'))).toEqual(['query Known']);
    const known = await askFor('ben', 'a2');
    expect([below(known), known.attributes['directory.remembered']]).toEqual([['query Known'], undefined]);
    await askFor('ben', 'a3');
    const remembered = await askFor('ben', 'a4');
    expect(below(remembered)).toEqual([]);
    expect(remembered.attributes).toMatchObject({
      'graphql.operation.name': 'Known',
      'directory.remembered': true,
    });
  });

  it('is not recorded for a probe', async () => {
    for (const path of ['/_health', '/_readiness']) await send(service, { path });
    const traceId = 'decade'.padEnd(32, '0');
    const headers = { traceparent: `00-${traceId}-${'3'.repeat(16)}-01` };
    await send(service, { path: '/nothing', headers });
    await collector.until((span) => span.traceId === traceId);
    expect(collector.spans.filter(({ name }) => /health|readiness|status/.test(name))).toEqual([]);
  });

  it('is recorded for a synchronization', async () => {
    const run = await collector.until(({ name }) => name === 'synchronization');
    expect(run.attributes).toMatchObject({
      'directory.run.scope': 'all',
      'directory.run.outcome': 'applied',
    });
  });

  it('is propagated to the identity provider', async () => {
    const traceId = 'facade'.padEnd(32, '0');
    const token = await issuer.opaque({ active: true, scope: 'read', sub: 'ben', client_id: 'x' });
    const traceparent = `00-${traceId}-${'1'.repeat(16)}-01`;
    const asked = await sendRequest('introspected', {
      authorization: token,
      traceparent,
      tracestate: 'vendor=1',
    });
    expect(asked.status).toBe(200);
    const call = await collector.until(
      (span) => span.traceId === traceId && span.name === 'POST identity provider',
    );
    expect(await issuer.lastTrace('/oauth2/introspect')).toEqual({
      traceparent: `00-${traceId}-${call.spanId}-01`,
      tracestate: 'vendor=1',
    });
  });
});

describe('the log', () => {
  it('is complete after a crash of the process', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `last-${index}`);
    await Promise.all(ids.map((id) => sendRequest(id)));
    expect(await service.fail('crash', {})).toBe(1);
    const loggedIds = new Set(linesOf(service).map((line) => line['requestId']));
    expect(ids.filter((id) => !loggedIds.has(id))).toEqual([]);
  });

  it('is complete after SIGTERM, and short by default', async () => {
    const ended = await WatchedService.start({ environment: { LOG_REQUESTS: 'true' } });
    const ids = Array.from({ length: 60 }, (_, index) => `last-${index}`);
    const query = 'query Build { buildInfo { version } }';
    await Promise.all(ids.map((id) => post(ended, { query }, { 'x-request-id': id })));
    await ended.stop();
    const requests = linesOf(ended).filter(({ msg }) => msg === 'request');
    expect(new Set(requests.map(({ requestId }) => requestId))).toEqual(new Set(ids));
    const names = ['level', 'time', 'requestId', 'route', 'status', 'milliseconds'];
    expect(Object.keys(requests[0] ?? {})).toEqual([...names, 'operation', 'principal', 'cost', 'msg']);
  });
});
