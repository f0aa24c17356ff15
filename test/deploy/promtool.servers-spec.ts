import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { requireProgram } from '../support/servers/system-packages.mjs';

type Labels = Readonly<Record<string, string>>;

/** A time series: one value for each 15 seconds, in the notation of promtool. */
interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly values: string;
}

interface Scenario {
  readonly series: readonly Series[];
  /** The alerts that fire after half an hour, with their labels that matter. */
  readonly firing: readonly (Labels & { readonly alertname: string })[];
}

/** Half an hour of a target that answers, and of one that does so for ten minutes only. */
const ALWAYS = '1x120';
const DIED = { up: '1x40 0x80', metrics: '1x40 stale' };
const SERVICE = 'directory-service';

/** The labels of three targets, as Prometheus finds them. */
const SCRAPING: Readonly<Record<string, readonly Labels[]>> = {
  'static targets': [11, 12, 13].map((host) => ({ job: 'directory', instance: `10.77.0.${host}:9464` })),
  'annotations of pods': ['a', 'b', 'c'].map((pod, index) => ({
    job: 'kubernetes-pods',
    instance: `10.244.0.${index}:9464`,
    namespace: 'directory',
    pod: `directory-${pod}`,
  })),
  'a PodMonitor': ['a', 'b', 'c'].map((pod, index) => ({
    job: 'monitoring/directory',
    instance: `10.244.0.${index}:9464`,
    namespace: 'directory',
    pod: `directory-${pod}`,
    container: 'directory',
    endpoint: 'metrics',
  })),
};

/** Another application, which does not answer, in the same job. */
function strangerOf({ job = '' }: Labels): Series {
  return { name: 'up', labels: { job, instance: '10.244.9.9:80' }, values: '0x120' };
}

function replica(labels: Labels, isAlive: boolean, service = SERVICE): Series[] {
  const own = { ...labels, service_name: service };
  const values = isAlive ? ALWAYS : DIED.metrics;
  return [
    { name: 'up', labels, values: isAlive ? ALWAYS : DIED.up },
    { name: 'directory_build_info', labels: { ...own, version: '1', commit: '' }, values },
    { name: 'directory_leader', labels: own, values },
  ];
}

function requests(labels: Labels, route: string, code: string): Series {
  const own = { ...labels, service_name: SERVICE, route, code, operation: 'none' };
  return { name: 'directory_requests_total', labels: own, values: '0+10x120' };
}

/** The metric of a receiver of changes: for how long it fails. */
function receiver(labels: Labels) {
  return ([target, values]: readonly [string, string]): Series => {
    const own = { ...labels, service_name: SERVICE, target };
    return { name: 'directory_webhook_failing_seconds', labels: own, values };
  };
}

function labelsOf(labels: Labels): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `{${texts.join(',')}}`;
}

const directory = mkdtempSync(join(tmpdir(), 'promtool-'));

beforeAll(() => cpSync('deploy/monitoring', directory, { recursive: true }));

afterAll(() => rmSync(directory, { recursive: true }));

function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(requireProgram('promtool'), args, {
    cwd: directory,
    encoding: 'utf8',
  });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

function problemsOf({ series, firing }: Scenario): string {
  const test = {
    interval: '15s',
    input_series: series.map(({ name, labels, values }) => ({
      series: `${name}${labelsOf(labels)}`,
      values,
    })),
    promql_expr_test: [
      {
        expr: 'group by (alertname, service_name, instance, target) (ALERTS{alertstate="firing"})',
        eval_time: '30m',
        exp_samples: firing.map((labels) => ({ labels: labelsOf(labels), value: 1 })),
      },
    ],
  };
  const file = join(directory, 'test.yaml');
  writeFileSync(file, stringify({ rule_files: ['alerts.yaml'], evaluation_interval: '15s', tests: [test] }));
  return promtool('test', 'rules', 'test.yaml');
}

const down = { alertname: 'DirectoryDown', service_name: SERVICE };
const processDown = ({ instance = '' }: Labels) => ({ alertname: 'DirectoryProcessDown', instance });

describe('the configuration of Prometheus', () => {
  it('is valid, with its rules', () => expect(promtool('check', 'config', 'prometheus.yaml')).toBe(''));

  it('has a test that reports an alert which does not fire', () =>
    expect(problemsOf({ series: [], firing: [] })).toContain('DirectoryDown'));
});

describe.each(Object.entries(SCRAPING))('with %s', (_how, targets) => {
  const [first = {}, ...others] = targets;

  it('no alert fires while three processes answer', () => {
    const series = [...targets.flatMap((target) => replica(target, true)), strangerOf(first)];
    expect(problemsOf({ series, firing: [] })).toBe('');
  });

  it('one alert fires if one of three has died', () => {
    const series = [
      ...replica(first, false),
      ...others.flatMap((target) => replica(target, true)),
      strangerOf(first),
    ];
    expect(problemsOf({ series, firing: [processDown(first)] })).toBe('');
  });

  it('alerts fire if all have died, also beside another installation that answers', () => {
    const series = targets.flatMap((target) => replica(target, false));
    const firing = [down, ...targets.map(processDown)];
    expect(problemsOf({ series, firing })).toBe('');
    const other = replica({ ...first, instance: '10.0.0.1:9464' }, true, 'another-school');
    expect(problemsOf({ series: [...series, ...other], firing })).toBe('');
  });

  it('errors are those of clients, and not of probes', () => {
    const series = targets.flatMap((target) => [
      ...replica(target, true),
      requests(target, '/graphql/v1', '200'),
      requests(target, '/_readiness', '503'),
    ]);
    expect(problemsOf({ series, firing: [] })).toBe('');
    const failed = requests(first, '/graphql/v1', '500');
    const errors = { alertname: 'DirectoryErrors', service_name: SERVICE };
    expect(problemsOf({ series: [...series, failed], firing: [errors] })).toBe('');
  });

  it('one alert fires for each receiver that fails, however many processes say so', () => {
    const series = targets.flatMap((labels) => [
      ...replica(labels, true),
      ...[['sound', '0x120'] as const, ['late', '3000+15x120'] as const].map(receiver(labels)),
    ]);
    const late = { alertname: 'DirectoryWebhookFailing', service_name: SERVICE, target: 'late' };
    expect(problemsOf({ series, firing: [late] })).toBe('');
  });
});
