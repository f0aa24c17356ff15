import { readFileSync, statSync } from 'node:fs';
import { suggestionList } from 'graphql/jsutils/suggestionList.js';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { printable } from '../../common/printable.js';

/** The largest file in bytes. A model has a few kilobytes. */
const MOST_BYTES = 100_000;

/** Without its warnings about tags and directives, which count as errors here, the library would read the file. */
const OPTIONS = { schema: 'core', merge: false, resolveKnownTags: false, stringKeys: true } as const;

/** A problem in a file, at a place counted from 1. */
export interface FileProblem {
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

export type Path = readonly PropertyKey[];

/** Reads YAML. Without problems, the value is that of JSON. */
function parseYaml(text: string) {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { ...OPTIONS, prettyErrors: false, lineCounter });
  const problemAt = (offset: number, problem: string): FileProblem => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), text: printable(problem) };
  };
  const offsetOf = (path: Path, part: 'key' | 'value'): number => {
    const parent = path.length === 0 ? null : document.getIn(path.slice(0, -1), true);
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))
      : undefined;
    const nodes = [part === 'value' ? document.getIn(path, true) : undefined, pair?.key];
    const [offset] = nodes.flatMap((node) => (isNode(node) ? (node.range?.[0] ?? []) : []));
    return offset ?? (path.length === 0 ? 0 : offsetOf(path.slice(0, -1), 'key'));
  };
  const malformed = (message: string, offset = 0) =>
    problemAt(offset, `the YAML is malformed: ${clip(message)}`);
  const problems = [...document.errors, ...document.warnings].map(({ message, pos }) =>
    malformed(message, pos[0]),
  );
  let value: unknown;
  try {
    if (problems.length === 0) value = document.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    problems.push(malformed(error.message));
  }
  // A file that was cut off must not hide the rules that it had.
  if (value === null && !text.includes('#')) problems.push(problemAt(0, 'the file is empty'));
  return {
    value: value === null ? {} : value,
    problems,
    /** A problem with the value or the key at a path. A path that does not exist is at its last key that does. */
    problemOf: (path: Path, problem: string, part: 'key' | 'value' = 'value') =>
      problemAt(offsetOf(path, part), `${clip(path.map(String).join('.')) || 'the file'}: ${problem}`),
  };
}

/**
 * Reads a file that a setting names, and checks its text.
 * @returns null instead of a result if there is none, or it cannot be read; one line for each problem: FILE:LINE:COLUMN, key and cause
 */
export function readYaml<Checked extends { readonly problems: readonly FileProblem[] }>(
  setting: string,
  file: string | undefined,
  check: (text: string) => Checked,
): { checked: Checked | null; problems: readonly string[] } {
  if (file === undefined) return { checked: null, problems: [] };
  let text: string;
  try {
    const status = statSync(file);
    // A pipe would wait for a writer.
    if (!status.isFile() || status.size > MOST_BYTES)
      throw new Error(`no file of at most ${MOST_BYTES} bytes`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem = `${setting} names a file that cannot be read as UTF-8 (${code ?? message}): ${file}`;
    return { checked: null, problems: [problem] };
  }
  const checked = check(text);
  return { checked, problems: describeProblems(file, checked.problems) };
}

/** One line for each problem, in the order of the file. */
export function describeProblems(file: string, problems: readonly FileProblem[]): string[] {
  return [...problems]
    .sort((left, right) => left.line - right.line || left.column - right.column)
    .map(({ line, column, text }) => `${file}:${line}:${column}: ${text}`);
}

/** The message about unknown keys is the list of those that are known. */
const knownKeys: z.core.$ZodErrorMap = (issue) =>
  issue.code === 'unrecognized_keys' ? Object.keys((issue.inst as z.ZodObject).shape).join(', ') : undefined;

/**
 * Compares a text with its declaration.
 * @returns the rest of the file after the removal of invalid parts, so that everything else can be checked, too; null: nothing
 */
export function checkShape<Shape>(text: string, schema: z.ZodType<Shape>) {
  const { value, problems: malformed, problemOf } = parseYaml(text);
  if (malformed.length > 0) return { shape: null, value: undefined, problems: malformed, problemOf };
  const issues = specific(schema.safeParse(value, { error: knownKeys }).error?.issues ?? []);
  const problems = issues.map(({ path, message, isKey }) =>
    problemOf(path, message, isKey ? 'key' : 'value'),
  );
  const rest: unknown = structuredClone(value);
  for (const issue of issues) removePart(rest, issue);
  return { shape: schema.safeParse(rest).data ?? null, value, problems, problemOf };
}

interface Issue {
  readonly path: Path;
  readonly message: string;
  readonly isKey?: boolean;
}

/** Replaces an issue of a union by those of the alternative that the value was meant to be, and one of keys by one for each. */
function specific(issues: readonly z.core.$ZodIssue[]): Issue[] {
  return issues.flatMap((issue): Issue[] => {
    const { code, path, message } = issue;
    if (code === 'unrecognized_keys')
      return issue.keys.map((key) => {
        const cure = didYouMean(key, message.split(', '));
        return { path: [...path, key], message: `unknown key. ${cure}`, isKey: true };
      });
    if (code === 'invalid_key') return [{ path, message: issue.issues[0]?.message ?? message, isKey: true }];
    const isOfOtherType = (inner: z.core.$ZodIssue) =>
      inner.path.length === 0 && (inner.code === 'invalid_type' || inner.code === 'invalid_union');
    const meant =
      code === 'invalid_union' ? issue.errors.find((each) => !each.some(isOfOtherType)) : undefined;
    if (meant === undefined) return [issue];
    return specific(meant).map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
  });
}

/** Removes the field, the list or the value that has an issue. No other one depends on it. */
function removePart(root: unknown, { path, isKey = false }: Issue): void {
  const part = isKey ? path : path.slice(0, path[1] === 'fields' ? 3 : 2);
  const stepInto = (value: unknown, step: PropertyKey) =>
    (value as Record<PropertyKey, unknown> | null)?.[step];
  const parent = part.slice(0, -1).reduce(stepInto, root);
  if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, part.at(-1) ?? '');
}

/** Text that may have parts of the file, in a message. Half of a pair of surrogates is left out. */
function clip(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** Names the known word that is most similar to one, or else all of them. */
export function didYouMean(word: string, known: readonly string[]): string {
  const [closest] = suggestionList(word.slice(0, 64), known);
  return closest === undefined ? `Known: ${known.join(', ')}` : `Did you mean ${closest}?`;
}
