import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import type { Environment } from '../../../src/config/config.js';

/** The properties of a compose file that these tests read; its schema checks the rest. */
export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export interface ComposeService {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
  readonly networks: readonly string[] | { readonly inside: { readonly ipv4_address: string } };
}

/** An object of Kubernetes, of any kind. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

/** The properties of the Deployment's container that these tests read. */
export interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly securityContext: { readonly runAsUser: number };
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: { readonly items: readonly { readonly key: string; readonly path: string }[] };
  }[];
}

export interface Kustomization {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly {
    readonly name: string;
    readonly behavior?: string;
    readonly envs?: readonly string[];
    readonly files?: readonly string[];
  }[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
  readonly patches?: readonly { readonly path: string }[];
}

const KUBERNETES = 'deploy/kubernetes';

export function readCompose(): Compose {
  return parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true }) as Compose;
}

export function readKustomization(directory = KUBERNETES): Kustomization {
  return parse(readFileSync(join(directory, 'kustomization.yaml'), 'utf8')) as Kustomization;
}

/** All objects of a file. */
export function readManifests(file: string, directory = KUBERNETES): Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(directory, file), 'utf8'));
  return documents.map((document) => document.toJS() as Manifest);
}

/** The pods of the Deployment. */
export function readPod(): { pod: PodSpec; container: Container } {
  const [deployment] = readManifests('deployment.yaml') as unknown as [
    { spec: { template: { spec: PodSpec } } },
  ];
  const { spec: pod } = deployment.spec.template;
  const [container] = pod.containers;
  if (container === undefined) throw new Error('The Deployment has no container');
  return { pod, container };
}

/** Environment variables of the image. */
export function readImageEnvironment(): Environment {
  const [, line = ''] =
    /^ENV (.+)$/m.exec(
      readFileSync('Dockerfile', 'utf8')
        .split(/^FROM /m)
        .at(-1) ?? '',
    ) ?? [];
  return Object.fromEntries(line.split(' ').map((pair) => pair.split('=') as [string, string]));
}

/** Settings of the ConfigMap that kustomize generates. */
export function readSettingsFile(directory = KUBERNETES): Environment {
  const lines = readFileSync(join(directory, 'settings.env'), 'utf8').split('\n');
  const pairs = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    pairs.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** Secrets as deploy/make-secrets.sh writes them, in a temporary directory. */
export function makeSecrets(directory = mkdtempSync(join(tmpdir(), 'secrets-'))): string {
  execFileSync('deploy/make-secrets.sh', [directory]);
  return directory;
}

/** The environment of a container, with paths of secrets replaced by those of the test. */
export function withSecrets(environment: Environment, secrets: string): Environment {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value = '']) => {
      if (!value.startsWith('/run/secrets/')) return [name, value] as const;
      const file = join(secrets, basename(value));
      if (!existsSync(file)) throw new Error(`There is no file ${basename(value)}, which ${name} names`);
      return [name, file] as const;
    }),
  );
}
