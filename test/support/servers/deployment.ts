import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import type { Environment } from '../../../src/config/config.js';

/** The properties of a compose file that these tests read; its schema checks the rest. */
export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
}

/** An object of Kubernetes, of any kind. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Named {
  readonly name: string;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

/** The properties of the Deployment's container that these tests read. */
interface Container {
  readonly ports: readonly (Named & { readonly containerPort: number })[];
  readonly env: readonly (Named & { readonly value: string })[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly (Named & { readonly mountPath: string })[];
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes: readonly (Named & {
    readonly secret?: { readonly items: readonly { readonly key: string; readonly path: string }[] };
  })[];
}

const KUBERNETES = 'deploy/kubernetes';

export function readCompose(): Compose {
  return parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true }) as Compose;
}

export function readKustomization(): { readonly resources: readonly string[] } {
  return parse(readFileSync(join(KUBERNETES, 'kustomization.yaml'), 'utf8')) as { resources: string[] };
}

/** All objects of a file. */
export function readManifests(file: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(KUBERNETES, file), 'utf8'));
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
export function readSettingsFile(): Environment {
  return parseEnv(readFileSync(join(KUBERNETES, 'settings.env'), 'utf8'));
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
