import { readFileSync } from 'node:fs';
import { buildLdif } from '../support/builders/directory.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { post, send } from '../support/clients/http.js';
import { readSamples } from '../support/clients/metrics.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { WatchedService } from '../support/watched-service.js';

const QUERY =
  'query Members { group(group: {id: "club"}) { members(first: 2) { nodes { user { name } } } } }';

type Line = Record<string, unknown>;

let issuer: ExternalIssuerProcess;
let service: WatchedService;
let metricsPort: number;
let authorization: string;

beforeAll(async () => {
  [issuer, metricsPort] = await Promise.all([ExternalIssuerProcess.start(), findFreePort()]);
  service = await WatchedService.start({
    ldif: buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna', 'ben'] }]),
    environment: {
      ...issuer.environment,
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
  await issuer.stop();
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
    const { time, milliseconds, ...first } = await lineOf('first');
    expect(first).toEqual({ ...known, requestId: 'first', statements: 1 });
    expect(Date.parse(String(time))).toBeGreaterThan(Date.now() - 60_000);
    expect(milliseconds).toBeGreaterThan(0);
    expect(await lineOf('remembered')).toMatchObject({ ...known, statements: 0 });
  });

  it('names the trace of the client, if it sends one', async () => {
    const traceId = 'c0ffee'.padEnd(32, '0');
    await sendRequest('traced', { traceparent: `00-${traceId}-${'beef'.padEnd(16, '0')}-01` });
    await sendRequest('untraced', { traceparent: `00-anna-${traceId}` });
    expect(await lineOf('traced')).toMatchObject({ traceId });
    expect(await lineOf('untraced')).not.toHaveProperty('traceId');
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
    const { time, milliseconds, ...nothing } = await lineOf('nothing');
    expect([typeof time, typeof milliseconds]).toEqual(['string', 'number']);
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
});

describe('the metrics', () => {
  it('are available on their own port only', async () => {
    const { status, headers } = await fetchMetrics('/metrics?x=y');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect((await fetchMetrics('/')).status).toBe(404);
    expect((await fetchMetrics('/metrics', 'POST')).status).toBe(405);
    expect((await send(service, { path: '/metrics' })).status).toBe(404);
  });

  it('are those of docs/monitoring.md, with type, labels and meaning', async () => {
    await sendRequest('wrong', {}, '{ wrong }');
    const { body } = await fetchMetrics();
    const samples = readSamples(body);
    const described = [...body.matchAll(/^# HELP (directory_\w+) (.*)\n# TYPE \w+ (\w+)$/gm)];
    const labelsOf = (metric: string) => {
      const own = samples.filter(({ name }) => name.replace(/_(bucket|count|sum)$/, '') === metric);
      const labels = new Set(own.flatMap((sample) => Object.keys(sample.labels)).sort());
      const shown = [...labels].filter((label) => !/^(le|service_name)$/.test(label));
      return own.length === 0 ? null : shown.map((label) => `\`${label}\``).join(', ');
    };
    const rows = readFileSync('docs/monitoring.md', 'utf8').match(/^\| `directory_.*$/gm) ?? [];
    const documented = rows.map((row) => row.split('|').map((cell) => cell.trim()));
    // A metric without a value shows no labels yet.
    expect(documented.map(([, name, type, labels, help]) => [name, type, labels, help])).toEqual(
      described.map(([, name = '', help, type], index) => {
        return [`\`${name}\``, type, labelsOf(name) ?? documented[index]?.[3], help];
      }),
    );
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
});

describe('the log', () => {
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
