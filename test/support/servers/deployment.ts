import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
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

const CHART = 'deploy/chart';

export function readCompose(): Compose {
  return parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true }) as Compose;
}

/** The functions of Helm that the chart uses, with the value of the pipeline as their last argument. */
const HELM: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  toJson: (value) => JSON.stringify(value),
  toYaml: (value) => stringify(value).trimEnd(),
  sha256sum: (text) => createHash('sha256').update(String(text)).digest('hex'),
  nindent: (width, text) => `\n${String(text).replace(/^/gm, ' '.repeat(Number(width)))}`,
};

/** Renders what the chart uses of Helm's templates: pipelines, and conditions that are not nested. Everything else is an error. */
function render(template: string, context: object): string {
  const find = (path: string) =>
    path
      .slice(1)
      .split('.')
      .reduce<unknown>((at, name) => {
        if (typeof at !== 'object' || at === null || !(name in at)) throw new Error(`There is no ${path}`);
        return (at as Record<string, unknown>)[name];
      }, context);
  const evaluate = (pipeline: string) =>
    pipeline.split(' | ').reduce<unknown>((input, step, index) => {
      const [name = '', ...given] = step.split(' ');
      if (name.startsWith('.')) return find(name);
      const run = HELM[name];
      if (run === undefined) throw new Error(`The test does not know ${name}`);
      return run(
        ...given.map((each) => (each.startsWith('.') ? find(each) : each)),
        ...(index > 0 ? [input] : []),
      );
    }, undefined);
  const action = (text: string) => String(evaluate(text));
  return template
    .replace(/\s*\{\{- if (.+?) \}\}([^]*?)\s*\{\{- end \}\}/g, (_, condition: string, body: string) =>
      evaluate(condition) ? body : '',
    )
    .replace(/\s*\{\{- (.+?) \}\}/g, (_, text: string) => action(text))
    .replace(/\{\{ (.+?) \}\}/g, (_, text: string) => action(text));
}

/** All objects of the chart in a release with the name «directory». */
export function renderChart(values: object = {}): Manifest[] {
  const standard = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as object;
  const context = { Values: { ...standard, ...values }, Release: { Name: 'directory' } };
  return readdirSync(join(CHART, 'templates')).flatMap((file) => {
    const text = render(readFileSync(join(CHART, 'templates', file), 'utf8'), context);
    return parseAllDocuments(text).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${String(document.errors)}`);
      return document.contents === null ? [] : [document.toJS() as Manifest];
    });
  });
}

function findManifest(kind: string): unknown {
  const found = renderChart().find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`There is no ${kind}`);
  return found;
}

/** The pods of the Deployment. */
export function readPod(): { pod: PodSpec; container: Container } {
  const { spec } = findManifest('Deployment') as { spec: { template: { spec: PodSpec } } };
  const { spec: pod } = spec.template;
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

/** Settings of the ConfigMap. */
export const readSettings = () => (findManifest('ConfigMap') as { data: Environment }).data;

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
