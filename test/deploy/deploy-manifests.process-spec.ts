import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import {
  type ComposeService,
  makeSecrets,
  readCompose,
  readImageEnvironment,
  readKustomization,
  readManifests,
  readPod,
  readSettingsFile,
  withSecrets,
} from '../support/servers/deployment.js';
import { problemsOfCompose, problemsOfManifest } from '../support/builders/manifest-schemas.js';

const compose = readCompose();
const kustomization = readKustomization();
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

describe('the manifests', () => {
  const names = readdirSync('deploy/kubernetes').filter((name) => name.endsWith('.yaml'));

  it('are all listed, and all exist', () =>
    expect([...kustomization.resources, 'kustomization.yaml'].sort()).toEqual(names.sort()));

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
      expect(status).toBe(2);
      expect(stderr).toContain(`error: DATABASE_URL_FILE names a file that cannot be read: ${file}\n`);
    }
    const { status, stderr } = start(join(directory, 'empty'));
    expect(status).toBe(2);
    expect(stderr).toContain(
      `error: DATABASE_URL_FILE names a file that is empty: ${join(directory, 'empty')}\n`,
    );
    rmSync(directory, { recursive: true });
  });
});
