import { z } from 'zod';
import { closestTo } from './did-you-mean.js';
import { clean, quote } from './quote.js';
import type { ModelProblem, Path, YamlFile } from './yaml-file.js';

type Issue = z.core.$ZodIssue;

/** The part of a JSON Schema that is followed to find the keys of a map. */
interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** The most issues of the file, and keys of an issue, that are described. */
const MOST = 200;

/** What a file may contain. */
interface Declaration<Shape> {
  readonly schema: z.ZodType<Shape>;
  /** The words for the whole file in problems. */
  readonly whole: string;
  /** What remains of a file that is invalid as a whole. */
  readonly nothing: Shape;
}

/** The rest of a file after the removal of invalid parts, so that everything else can be checked, too. */
interface CheckedShape<Shape> {
  readonly shape: Shape;
  readonly problems: readonly ModelProblem[];
  /** The number of problems that are not described. */
  readonly more: number;
}

/** Compares a file with its declaration. */
export function checkShape<Shape>(file: YamlFile, declaration: Declaration<Shape>): CheckedShape<Shape> {
  const { schema, nothing } = declaration;
  // An empty file is a map without keys.
  const value: unknown = structuredClone(file.value ?? {});
  let result = schema.safeParse(value);
  const found = result.success ? [] : specific(result.error.issues);
  const problems = found
    .slice(0, MOST)
    .flatMap((issue) => describe(issue, file, declaration))
    .slice(0, MOST);
  const all = found.reduce((sum, issue) => sum + ('keys' in issue ? issue.keys.length : 1), 0);
  // Each attempt removes at least one value; the bound is for values that occur in several places by aliases.
  for (let attempt = 0; !result.success && attempt < 10; attempt++) {
    for (const issue of specific(result.error.issues)) remove(value, issue);
    result = schema.safeParse(value);
  }
  return { shape: result.success ? result.data : nothing, problems, more: all - problems.length };
}

/** Replaces an issue of a union by the issues of the alternative that the value was meant to be. */
function specific(issues: readonly Issue[]): Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'invalid_union') return [issue];
    const meant = issue.errors.find((alternative) => !alternative.some(isOfOtherType));
    if (meant === undefined) return [issue];
    return specific(meant.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })));
  });
}

function isOfOtherType({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_union');
}

function describe(issue: Issue, file: YamlFile, declaration: Declaration<unknown>): ModelProblem[] {
  const nameOf = (path: Path) => (path.length === 0 ? declaration.whole : clean(path.map(String).join('.')));
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(z.toJSONSchema(declaration.schema, { io: 'input' }) as SchemaNode, path);
    return issue.keys
      .slice(0, MOST)
      .map((key) => ({ ...file.placeOfKey([...path, key]), text: unknownKey(key, nameOf(path), known) }));
  }
  if (issue.code === 'invalid_key') {
    const [reason] = issue.issues;
    const text = `${quote(String(path.at(-1)))} in ${nameOf(path.slice(0, -1))} ${reason?.message ?? 'is invalid'}`;
    return [{ ...file.placeOfKey(path), text }];
  }
  const isMissing = valueAt(file.value, path) === undefined;
  const place = isMissing ? file.placeOfKey(path) : file.placeOfValue(path);
  return [{ ...place, text: `${nameOf(path)} ${isMissing ? 'is missing. Add it' : messageOf(issue)}` }];
}

function unknownKey(key: string, map: string, known: readonly string[]): string {
  const closest = closestTo(key, known);
  const cure =
    closest === null ? `Remove it: the keys here are ${known.join(', ')}` : `Did you mean ${closest}?`;
  return `${quote(key)} is not a key of ${map}. ${cure}`;
}

function messageOf(issue: Issue): string {
  // The declaration has messages for single values, and the library for maps and lists.
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return issue.expected === 'array'
      ? 'is not a list. Write a list'
      : 'is not a map. Write keys and values, or remove the key';
  }
  if (issue.code === 'too_small' && issue.origin === 'array') return 'is empty. Write at least one value';
  if (issue.code === 'too_big' && issue.origin === 'array')
    return `has too many values. Write at most ${String(issue.maximum)}`;
  return issue.message;
}

/** The keys that a map at a path may have. */
function keysAt(root: SchemaNode, path: Path): string[] {
  let nodes: SchemaNode[] = [root];
  for (const step of path) {
    nodes = nodes.flatMap(alternatives).flatMap(({ properties, additionalProperties: others, items }) => {
      const next = properties?.[String(step)] ?? (typeof others === 'object' ? others : items);
      return next === undefined ? [] : [next];
    });
  }
  return nodes.flatMap(alternatives).flatMap(({ properties }) => Object.keys(properties ?? {}));
}

function alternatives(node: SchemaNode): readonly SchemaNode[] {
  return node.anyOf?.flatMap(alternatives) ?? [node];
}

/** Removes what an issue is about; of a list, all of it, because its other values would get other places. */
function remove(root: unknown, issue: Issue): void {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) removeAt(root, [...path, key]);
    return;
  }
  const isMissing = valueAt(root, path) === undefined;
  const listed = path.findIndex((step) => typeof step === 'number');
  removeAt(root, listed >= 0 ? path.slice(0, listed) : isMissing ? path.slice(0, -1) : path);
}

function removeAt(root: unknown, path: Path): void {
  const parent = valueAt(root, path.slice(0, -1));
  const key = path.at(-1);
  if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.deleteProperty(parent, key);
}

export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Record<PropertyKey, unknown>)[step]
        : undefined,
    root,
  );
}
