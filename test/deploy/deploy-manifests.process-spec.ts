import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { SETTINGS } from '../../src/config/settings.js';
import {
  type ComposeService,
  makeSecrets,
  type Manifest,
  readCompose,
  readImageEnvironment,
  readKustomization,
  readManifests,
  readPod,
  readSettingsFile,
  withSecrets,
} from '../support/servers/deployment.js';
import { problemsOfCompose, problemsOfManifest } from '../support/builders/manifest-schemas.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const compose = readCompose();
const kustomization = readKustomization();
const { pod, container } = readPod();
const REPLICAS = ['directory-1', 'directory-2'];
/** Seconds within which a process ends after SIGTERM. */
const LONGEST_END = 15;

let secrets: string;

beforeAll(() => {
  secrets = makeSecrets();
});

afterAll(() => {
  rmSync(secrets, { recursive: true });
});

function serviceOf(name: string): ComposeService {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`There is no service ${name}`);
  return service;
}

function addressOf(name: string): string {
  const { networks } = serviceOf(name);
  if (!('inside' in networks)) throw new Error(`${name} has no address of its own`);
  return networks.inside.ipv4_address;
}

/** Environment variables are settings, or names of secret files. */
function isSetting(variable: string): boolean {
  const secret = variable.replace(/_FILE$/, '');
  const settings: Record<string, object> = SETTINGS;
  return variable in settings || (secret !== variable && 'secret' in (settings[secret] ?? {}));
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

describe('the schemas', () => {
  it('report an unknown field, a wrong type, and a missing field', () => {
    const [deployment] = readManifests('deployment.yaml');
    const change = (pattern: string, replacement: string) =>
      problemsOfManifest(JSON.parse(JSON.stringify(deployment).replace(pattern, replacement)) as Manifest);
    expect(change('"readinessProbe"', '"readynessProbe"')).toEqual(
      expect.arrayContaining(['.spec.template.spec.containers.0.readynessProbe is not known']),
    );
    expect(change('"containerPort":3000', '"containerPort":"http"')).toHaveLength(1);
    expect(change('"selector"', '"choice"')).not.toEqual([]);
    expect(problemsOfCompose({ services: { nginx: { imagine: 'nginx' } } })).not.toEqual([]);
    expect(problemsOfCompose({ services: { nginx: { image: 1 } } })).not.toEqual([]);
  });
});

describe('the compose file', () => {
  it('conforms to the Compose Specification', () => {
    expect(problemsOfCompose(compose)).toEqual([]);
  });

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

  it('uses the addresses and ports of its balancers', () => {
    for (const file of ['deploy/nginx.conf', 'deploy/haproxy.cfg']) {
      const named = readFileSync(file, 'utf8').match(/10\.[\d.]+:\d+/g) ?? [];
      expect(named).toEqual(
        REPLICAS.map((name) => `${addressOf(name)}:${readImageEnvironment()['PORT'] ?? ''}`),
      );
    }
    const [, port] = /listen (\d+);/.exec(readFileSync('deploy/nginx.conf', 'utf8')) ?? [];
    expect(serviceOf('nginx').ports).toEqual([`${port ?? ''}:${port ?? ''}`]);
    for (const name of REPLICAS) {
      expect(serviceOf(name).environment).toMatchObject({ TRUSTED_PROXIES: addressOf('nginx') });
    }
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

describe('the compose file for a trial without a provider', () => {
  it('starts a service that allows the embedded provider', () => {
    const environment = interpolate(serviceOf('directory-1').environment ?? {}, { ALLOW_EMBEDDED: 'true' });
    const config = readConfig(withSecrets({ ...readImageEnvironment(), ...environment }, secrets));
    expect(config).toMatchObject({ production: true, allowEmbedded: true, auth: { issuer: null } });
  });
});

describe('the manifests', () => {
  const names = readdirSync('deploy/kubernetes').filter((name) => name.endsWith('.yaml'));

  it('are all listed, and all exist', () => {
    expect([...kustomization.resources, 'kustomization.yaml'].sort()).toEqual(names.sort());
  });

  it.each(kustomization.resources)('%s conforms to the API', (file) => {
    const manifests = readManifests(file);
    expect(manifests.length).toBeGreaterThan(0);
    expect(manifests.flatMap(problemsOfManifest)).toEqual([]);
  });

  it('mount files that deploy/make-secrets.sh writes', () => {
    const items = pod.volumes.flatMap(({ secret }) => secret?.items ?? []);
    expect(items.filter(({ key }) => !existsSync(join(secrets, key)))).toEqual([]);
    const [mount] = container.volumeMounts;
    const files = items.map(({ path }) => `${mount?.mountPath ?? ''}/${path}`);
    expect(container.env.map(({ value }) => value)).toEqual(files);
    expect(pod.volumes.map(({ name }) => name)).toEqual(container.volumeMounts.map(({ name }) => name));
  });

  it('refer to each other by existing names', () => {
    const text = readFileSync('deploy/kubernetes/deployment.yaml', 'utf8');
    const [generated] = kustomization.configMapGenerator;
    expect(generated?.envs).toEqual(['settings.env']);
    expect(text).toContain(`configMapRef:\n                name: ${generated?.name ?? ''}\n`);
    const [autoscaler] = readManifests('horizontal-pod-autoscaler.yaml');
    const [deployment] = readManifests('deployment.yaml');
    expect(autoscaler?.spec).toMatchObject({ scaleTargetRef: { name: deployment?.metadata.name } });
    const labels = { 'app.kubernetes.io/component': 'api' };
    expect(deployment?.spec).toMatchObject({ template: { metadata: { labels } } });
    const [service] = readManifests('service.yaml');
    const [budget] = readManifests('pod-disruption-budget.yaml');
    const [policy] = readManifests('network-policy.yaml');
    expect(service?.spec).toMatchObject({
      selector: labels,
      ports: [{ targetPort: container.ports[0]?.name }],
    });
    expect(budget?.spec).toMatchObject({ selector: { matchLabels: labels } });
    expect(policy?.spec).toMatchObject({ podSelector: { matchLabels: labels } });
  });

  it('start a service with valid production settings', () => {
    const environment = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const config = readConfig(
      withSecrets({ ...readImageEnvironment(), ...readSettingsFile(), ...environment }, secrets),
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

describe('both', () => {
  it('use existing settings only', () => {
    const variables = [
      ...REPLICAS.flatMap((name) => Object.keys(serviceOf(name).environment ?? {})),
      ...container.env.map(({ name }) => name),
      ...Object.keys(readSettingsFile()),
      ...Object.keys(readImageEnvironment()),
    ];
    expect(variables.length).toBeGreaterThan(30);
    expect(variables.filter((name) => !isSetting(name))).toEqual([]);
  });

  it('give a process enough time to end', () => {
    for (const name of REPLICAS) {
      expect(Number(/^(\d+)s$/.exec(serviceOf(name).stop_grace_period ?? '')?.[1])).toBeGreaterThan(
        LONGEST_END,
      );
    }
    const [program, notice] = container.lifecycle.preStop.exec.command;
    expect(program).toBe('sleep');
    expect(pod.terminationGracePeriodSeconds - Number(notice)).toBeGreaterThan(LONGEST_END);
  });

  it('run the image of this version, as the user of the image', () => {
    const images = REPLICAS.map((name) => serviceOf(name).image);
    expect(images).toEqual(REPLICAS.map(() => `directory-service:${version}`));
    expect(kustomization.images).toMatchObject([{ name: container.image, newTag: version }]);
    const [, user] = /^USER (\d+):\d+$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(Number(user)).toBe(pod.securityContext.runAsUser);
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/^[\w/-]+:v?\d[\w.-]*$/);
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

  it('are never committed', () => {
    expect(
      execFileSync('git', ['check-ignore', 'deploy/secrets/database-url'], { encoding: 'utf8' }),
    ).toContain('deploy/secrets');
  });

  it('cause an error that names an unreadable one at the start', () => {
    const directory = mkdtempSync(join(tmpdir(), 'secrets-'));
    writeFileSync(join(directory, 'empty'), '\n');
    const start = (file: string) =>
      spawnSync(process.execPath, ['dist/bundled/main.js'], {
        env: { DATABASE_URL_FILE: file },
        encoding: 'utf8',
      });
    for (const file of [join(directory, 'nothing'), directory]) {
      const { status, stderr } = start(file);
      expect([status, stderr]).toEqual([2, `DATABASE_URL_FILE names a file that cannot be read: ${file}\n`]);
    }
    const { status, stderr } = start(join(directory, 'empty'));
    expect([status, stderr]).toEqual([
      2,
      `DATABASE_URL_FILE names a file that is empty: ${join(directory, 'empty')}\n`,
    ]);
    rmSync(directory, { recursive: true });
  });
});
