import { readdirSync, readFileSync } from 'node:fs';
import { BUILT_IN_SCOPES } from '../../src/config/scopes.js';
import { SETTINGS } from '../../src/config/settings.js';
import { problemsOfManifest } from '../support/builders/manifest-schemas.js';
import {
  type Manifest,
  readKustomization,
  readManifests,
  readPod,
  readSettingsFile,
} from '../support/servers/deployment.js';

const EXAMPLE = 'deploy/kubernetes-example';

/** Merges a patch as Kubernetes does: lists by the name of their items. */
function merge(base: unknown, patch: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(patch)) {
    const nameOf = (item: unknown) => (item as { name: string }).name;
    const others = patch.filter((item) => !base.some((each) => nameOf(each) === nameOf(item)));
    const merged = base.map((each) => {
      const item = patch.find((other) => nameOf(other) === nameOf(each)) as unknown;
      return item === undefined ? (each as unknown) : merge(each, item);
    });
    return [...merged, ...(others as unknown[])];
  }
  if (typeof base !== 'object' || typeof patch !== 'object' || base === null || patch === null) return patch;
  const both: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch)) both[key] = key in both ? merge(both[key], value) : value;
  return both;
}

describe('the overlay for Kubernetes', () => {
  const kustomization = readKustomization(EXAMPLE);
  const base = readKustomization();
  const [settings, authorities] = kustomization.configMapGenerator;

  it('names its files, and those that a reader writes', () => {
    const [patch] = kustomization.patches ?? [];
    const own = kustomization.resources.filter((file) => !file.startsWith('..'));
    const named = [...own, patch?.path, ...(settings?.envs ?? []), 'kustomization.yaml'];
    expect(readdirSync(EXAMPLE).sort()).toEqual(named.sort());
    expect(kustomization.resources).toContain('../kubernetes');
    expect(authorities?.files).toEqual(['ca.pem']);
    expect(settings).toMatchObject({ name: base.configMapGenerator[0]?.name, behavior: 'merge' });
  });

  it('conforms to the API, also the deployment with its patch', () => {
    const own = kustomization.resources.filter((file) => !file.startsWith('..'));
    expect(own.flatMap((file) => readManifests(file, EXAMPLE)).flatMap(problemsOfManifest)).toEqual([]);
    const [deployment] = readManifests('deployment.yaml');
    const [patch] = readManifests('authorities.yaml', EXAMPLE);
    expect(patch?.metadata).toEqual(deployment?.metadata);
    const patched = merge(deployment, patch) as Manifest;
    expect(problemsOfManifest(patched)).toEqual([]);
    const text = JSON.stringify(patched);
    expect(text).toContain('"mountPath":"/run/secrets/directory"');
    expect(text).toContain('"mountPath":"/etc/directory/authorities"');
    expect(text).toContain(`"configMap":{"name":"${authorities?.name ?? ''}"}`);
  });

  it('sends requests to the port of the service, and lets traces leave to the collector of its settings', () => {
    const [ingress] = readManifests('ingress.yaml', EXAMPLE);
    const [service] = readManifests('service.yaml');
    const [port] = (service?.spec as { ports: { name: string }[] }).ports;
    const backend = { service: { name: service?.metadata.name, port: { name: port?.name } } };
    expect(ingress?.spec).toMatchObject({ rules: [{ http: { paths: [{ backend }] } }] });
    const given = readSettingsFile(EXAMPLE);
    const names = Object.keys(given);
    expect(names.filter((name) => !(name in SETTINGS))).toEqual([]);
    const collector = new URL(given['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '');
    const [policy] = readManifests('traces.yaml', EXAMPLE);
    const labels = { 'kubernetes.io/metadata.name': collector.hostname.split('.')[1] };
    expect(policy?.spec).toMatchObject({
      podSelector: { matchLabels: { 'app.kubernetes.io/component': 'api' } },
      egress: [
        {
          to: [{ namespaceSelector: { matchLabels: labels } }],
          ports: [{ port: Number(collector.port) }],
        },
      ],
    });
    expect(given['DIRECTORY_CA_FILE']).toBe('/etc/directory/authorities/ca.pem');
    expect(readPod().container.volumeMounts.map(({ mountPath }) => mountPath)).not.toContain(
      '/etc/directory/authorities',
    );
  });
});

interface Realm {
  readonly registrationAllowed: boolean;
  readonly editUsernameAllowed: boolean;
  readonly clientScopes: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, string>>;
    readonly protocolMappers?: readonly { readonly config: Readonly<Record<string, string>> }[];
  }[];
  readonly clients: readonly {
    readonly clientId: string;
    readonly publicClient: boolean;
    readonly standardFlowEnabled: boolean;
    readonly serviceAccountsEnabled: boolean;
    readonly attributes: Readonly<Record<string, string>>;
    readonly defaultClientScopes: readonly string[];
    readonly optionalClientScopes: readonly string[];
  }[];
}

/** docs/install.md describes what the service requires of Keycloak. */
describe('the realm of Keycloak', () => {
  const realm = JSON.parse(readFileSync('deploy/keycloak/realm.json', 'utf8')) as Realm;
  const mappers = realm.clientScopes.flatMap(({ protocolMappers = [] }) => protocolMappers);

  it('has the scopes of the service, in tokens', () => {
    const inTokens = realm.clientScopes.filter(
      ({ attributes }) => attributes['include.in.token.scope'] === 'true',
    );
    expect(inTokens.map(({ name }) => name)).toEqual(BUILT_IN_SCOPES.map(({ name }) => name));
  });

  it('gives tokens the audience, and the login name as subject, which users cannot change', () => {
    expect(mappers.map(({ config }) => config)).toEqual([
      expect.objectContaining({
        'included.custom.audience': 'https://directory.example.org',
        'access.token.claim': 'true',
      }),
      // AUTH_PROVIDER=generic reads the one, and AUTH_PROVIDER=keycloak the other.
      ...['sub', 'preferred_username'].map((claim): unknown =>
        expect.objectContaining({
          'user.attribute': 'username',
          'claim.name': claim,
          'access.token.claim': 'true',
        }),
      ),
    ]);
    expect([realm.registrationAllowed, realm.editUsernameAllowed]).toEqual([false, false]);
  });

  it('has a client for a page and one for a program, whose tokens are at+jwt', () => {
    for (const { attributes, defaultClientScopes, optionalClientScopes } of realm.clients) {
      expect(attributes['access.token.header.type.rfc9068']).toBe('true');
      expect(attributes['oauth2.device.authorization.grant.enabled']).toBe('false');
      expect(defaultClientScopes).toContain('directory-service');
      const names = realm.clientScopes.map(({ name }) => name);
      expect(
        [...defaultClientScopes, ...optionalClientScopes].filter((name) => !names.includes(name)),
      ).toEqual([]);
    }
    expect(realm.clients).toMatchObject([
      {
        clientId: 'club-page',
        publicClient: true,
        standardFlowEnabled: true,
        attributes: { 'pkce.code.challenge.method': 'S256', 'post.logout.redirect.uris': '+' },
        optionalClientScopes: ['read'],
      },
      {
        clientId: 'reports',
        publicClient: false,
        standardFlowEnabled: false,
        serviceAccountsEnabled: true,
        optionalClientScopes: ['read', 'directory'],
      },
    ]);
  });
});
