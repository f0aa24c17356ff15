import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import { suggestionList } from 'graphql/jsutils/suggestionList.js';
import { printable } from '../../common/printable.js';

/** The largest file in bytes. A model has a few kilobytes. */
const MOST_BYTES = 300_000;
/** The most problems that are listed. */
const MOST_PROBLEMS = 100;
/** The most aliases of a file, and values that all uses of one stand for. */
const MOST_ALIASES = 1000;
const MOST_VALUES = 100;

/** The library compares each key with all others of its map, which takes minutes for a large one. */
const OPTIONS = {
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
} as const;

/** A place in a file, counted from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem in a file. The text has the cause and the cure, each a sentence without its full stop at the end. */
export interface FileProblem extends Place {
  readonly text: string;
}

export type Path = readonly PropertyKey[];

/** Causes that the library describes in words of programs. */
const CAUSES: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'a second document begins here',
  RESOURCE_EXHAUSTION: 'it has too many levels',
};

type Found = readonly [node: unknown, text: string];

/** A YAML document whose values keep their places. */
export class YamlFile {
  readonly problems: readonly FileProblem[];
  /** The document as values of JSON; undefined if it is malformed. */
  readonly value: unknown;
  private readonly lines = new LineCounter();
  private readonly document: Document;

  /** @param emptyCure what to do with an empty file */
  constructor(
    readonly text: string,
    emptyCure = 'Write the model into it, or remove DIRECTORY_MODEL',
  ) {
    this.document = parseDocument(text, { ...OPTIONS, lineCounter: this.lines, prettyErrors: false });
    const malformed = this.findMalformed();
    const { value, found } = malformed.length > 0 ? { value: undefined, found: [] } : evaluate(this.document);
    // A file that was cut off must not hide the rules that it had.
    const isEmpty = value === null && !text.includes('#');
    const empty: Found[] = isEmpty ? [[null, `The file is empty. ${emptyCure}`]] : [];
    this.value = value;
    this.problems = [
      ...malformed,
      ...[...found, ...empty].map(([node, cause]) => ({ ...this.placeAt(offsetOf(node)), text: cause })),
    ];
  }

  /** The place of the key at the end of a path, or of the nearest part of the path that exists. */
  placeOfKey(path: Path): Place {
    return this.find(path, true);
  }

  /** The place of the value at the end of a path, or of the nearest part of the path that exists. */
  placeOfValue(path: Path): Place {
    return this.find(path, false);
  }

  /** Errors of the library, and its warnings about tags and directives, without which the file would be read. */
  private findMalformed(): FileProblem[] {
    const { errors, warnings } = this.document;
    const exhausted = errors.filter(({ code }) => code === 'RESOURCE_EXHAUSTION').slice(0, 1);
    return (exhausted.length > 0 ? exhausted : [...errors, ...warnings]).map(({ code, message, pos }) => {
      const place = this.placeAt(exhausted.length > 0 ? 0 : pos[0]);
      const line = this.text.split('\n', place.line).at(-1) ?? '';
      const cure = /\btype:\s+\[\w+!?\]!/.test(line)
        ? 'A type of a list has to be quoted, such as "[String!]!"'
        : 'Check the indentation, quotes, brackets and colons here';
      const cause = CAUSES[code] ?? clean(message.split('\n', 1)[0] ?? '');
      return { ...place, text: `The YAML is malformed: ${cause}. ${cure}` };
    });
  }

  private find(path: Path, wantsKey: boolean): Place {
    let node: unknown = this.document.contents;
    let offset = offsetOf(node);
    for (const [index, step] of path.entries()) {
      const item = childOf(node, step);
      if (item === undefined) break;
      offset = offsetOf(item.key) || offset;
      if (wantsKey && index === path.length - 1) break;
      offset = offsetOf(item.value) || offset;
      node = item.value;
    }
    return this.placeAt(offset);
  }

  private placeAt(offset: number): Place {
    const { line, col } = this.lines.linePos(offset);
    return line === 0 ? { line: 1, column: 1 } : { line, column: col };
  }
}

/** Finds what JSON does not have, and removes the key of the prototype. */
function findWrongParts(document: Document): { found: readonly Found[]; aliases: readonly Node[] } {
  const found: Found[] = [];
  const aliases: Node[] = [];
  visit(document, {
    Alias: (_key, alias) => {
      aliases.push(alias);
    },
    Map: (_key, map) => {
      const known = new Set<string>();
      map.items = map.items.filter(({ key }) => {
        const name = nameOf(key);
        const isPrototype = name === '__proto__';
        if (isPrototype) found.push([key, 'The key «__proto__» is reserved. Remove it']);
        else if (known.has(name)) found.push([key, `The key ${quote(name)} occurs twice. Keep one of them`]);
        known.add(name);
        return !isPrototype;
      });
    },
  });
  return { found, aliases };
}

function evaluate(document: Document): { value: unknown; found: readonly Found[] } {
  const { found, aliases } = findWrongParts(document);
  const failed = (cause: string) => {
    const wrong: Found = [aliases[0], `${cause}. Write the values out`];
    return { value: undefined, found: [...found, wrong] };
  };
  // The library compares each with all values before it.
  if (aliases.length > MOST_ALIASES) return failed(`The file has more than ${MOST_ALIASES} aliases`);
  try {
    return { value: document.toJS({ maxAliasCount: MOST_VALUES }), found };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return failed('An alias names no anchor before it, or the aliases stand for too many values');
  }
}

/** The key and the value of a map, or an item of a list. */
function childOf(node: unknown, step: PropertyKey): { key: unknown; value: unknown } | undefined {
  if (isMap(node)) return node.items.find(({ key }) => nameOf(key) === String(step));
  const item = isSeq(node) ? node.items[Number(step)] : undefined;
  return item === undefined ? undefined : { key: item, value: item };
}

function nameOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}

function offsetOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}

/** What is wrong in a file. */
export interface CheckedFile {
  readonly problems: readonly FileProblem[];
  /** The number of problems beyond. */
  readonly more: number;
}

/**
 * Reads a file that a setting names, and checks its text.
 * @returns null instead of a result if it cannot be read; one line for each problem: FILE:LINE:COLUMN, cause and cure
 */
export function readYaml<Checked extends CheckedFile>(
  setting: string,
  file: string,
  check: (text: string) => Checked,
): { checked: Checked | null; problems: readonly string[] } {
  const bytes = readBounded(file);
  if (typeof bytes === 'string') {
    const cure = 'Write the path of a YAML file that the user of the service can read';
    return { checked: null, problems: [`${setting} ${bytes}: ${file}. ${cure}.`] };
  }
  // A byte order mark belongs to no text.
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  if (!isUtf8(bytes)) {
    const before = text.slice(0, text.indexOf('\ufffd')).split('\n');
    const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 };
    const wrong = [{ ...place, text: 'This is not UTF-8. Save the file in this encoding' }];
    return { checked: null, problems: describeProblems(file, wrong, 0) };
  }
  const checked = check(text);
  return { checked, problems: describeProblems(file, checked.problems, checked.more) };
}

/** The bytes of a file, or why there are none. A pipe would wait for a writer. */
function readBounded(file: string): Buffer | string {
  try {
    const status = statSync(file);
    if (!status.isFile()) return 'names something that is not a file';
    return status.size > MOST_BYTES ? `names a file of more than ${MOST_BYTES} bytes` : readFileSync(file);
  } catch (error) {
    return `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
  }
}

function describeProblems(file: string, problems: readonly FileProblem[], beyond: number): string[] {
  const sorted = [...problems].sort((left, right) => left.line - right.line || left.column - right.column);
  const lines = sorted
    .slice(0, MOST_PROBLEMS)
    .map(({ line, column, text }) => `${file}:${line}:${column}: ${text}${/[.?]$/.test(text) ? '' : '.'}`);
  const more = problems.length - lines.length + beyond;
  return more > 0 ? [...lines, `${file}: ${more} more ${more === 1 ? 'problem' : 'problems'}.`] : lines;
}

const NOT_A_MAP = 'is not a map. Write keys and values, or remove the key';

/** A map with these keys. The message about others is the list of them. */
export const mapOf = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : NOT_A_MAP),
  });

/** A map with keys of one kind. */
export const recordOf = <Value extends z.ZodType>(key: z.ZodString, value: Value) =>
  z.record(key, value, { error: NOT_A_MAP });

export const listOf = <Item extends z.ZodType>(item: Item, most: number, least = 1) =>
  z
    .array(item, { error: 'is not a list. Write a list' })
    .min(least, { error: 'is empty. Write at least one value' })
    .max(most, { error: `has too many values. Write at most ${most}` });

/** The rest of a file after the removal of invalid parts, so that everything else can be checked, too. */
interface CheckedShape<Shape> extends CheckedFile {
  readonly shape: Shape;
}

/**
 * Compares a file with its declaration. The problems include those of YAML.
 * @param whole the words for the whole file in problems
 * @param nothing what remains of a file that is invalid as a whole
 */
export function checkShape<Shape>(
  file: YamlFile,
  schema: z.ZodType<Shape>,
  { whole, nothing }: { readonly whole: string; readonly nothing: Shape },
): CheckedShape<Shape> {
  if (file.value === undefined) return { shape: nothing, problems: file.problems, more: 0 };
  // An empty file is a map without keys.
  const value: unknown = structuredClone(file.value ?? {});
  let result = schema.safeParse(value);
  const found: Issue[] = [];
  // Each attempt removes at least one value; the bound is for values that occur in several places by aliases.
  for (let attempt = 0; !result.success && attempt < 10; attempt++) {
    const issues = specific(result.error.issues);
    // A key can be missing because it was removed. What only valid maps are checked for is found later.
    found.push(...issues.filter(({ code }) => attempt === 0 || code === 'custom'));
    for (const { path } of issues) removeAt(value, path);
    result = schema.safeParse(value);
  }
  const described = found.slice(0, MOST_PROBLEMS).map((issue) => describe(issue, file, whole));
  return {
    shape: result.success ? result.data : nothing,
    problems: [...file.problems, ...described],
    more: found.length - described.length,
  };
}

interface Issue {
  readonly code: z.core.$ZodIssue['code'];
  readonly path: Path;
  readonly message: string;
}

/** Replaces an issue of a union by those of the alternative that the value was meant to be, and one of keys by one for each. */
function specific(issues: readonly z.core.$ZodIssue[]): Issue[] {
  return issues.flatMap((issue): Issue[] => {
    const { code, path, message } = issue;
    if (code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ code, path: [...path, key], message }));
    if (code === 'invalid_key') return [{ code, path, message: issue.issues[0]?.message ?? 'is invalid' }];
    const isOfOtherType = (inner: z.core.$ZodIssue) =>
      inner.path.length === 0 && (inner.code === 'invalid_type' || inner.code === 'invalid_union');
    const meant =
      code === 'invalid_union' ? issue.errors.find((each) => !each.some(isOfOtherType)) : undefined;
    if (meant === undefined) return [issue];
    return specific(meant).map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
  });
}

function describe({ code, path, message }: Issue, file: YamlFile, whole: string): FileProblem {
  const nameOfPath = (each: Path) => (each.length === 0 ? whole : clean(each.map(String).join('.')));
  const key = quote(String(path.at(-1)));
  const map = nameOfPath(path.slice(0, -1));
  if (code === 'unrecognized_keys') {
    const closest = closestTo(String(path.at(-1)), message.split(', '));
    const cure = closest === null ? `Remove it: the keys here are ${message}` : `Did you mean ${closest}?`;
    return { ...file.placeOfKey(path), text: `${key} is not a key of ${map}. ${cure}` };
  }
  if (code === 'invalid_key') return { ...file.placeOfKey(path), text: `${key} in ${map} ${message}` };
  const isMissing = code !== 'custom' && valueAt(file.value, path) === undefined;
  const place = isMissing ? file.placeOfKey(path) : file.placeOfValue(path);
  return { ...place, text: `${nameOfPath(path)} ${isMissing ? 'is missing. Add it' : message}` };
}

/** Removes what an issue is about; of a list, all of it, because its other values would get other places. */
function removeAt(root: unknown, path: Path): void {
  const listed = path.findIndex((step) => typeof step === 'number');
  const whole = listed >= 0 ? path.slice(0, listed) : path;
  // What is missing makes the map around it invalid.
  const removed = valueAt(root, whole) === undefined ? whole.slice(0, -1) : whole;
  const parent = valueAt(root, removed.slice(0, -1));
  const key = removed.at(-1);
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

/** Text that may have parts of the file, in a message: bounded, and safe for a line of a terminal. */
export function clean(text: string, most = 200): string {
  // Half of a pair of surrogates is left out.
  return printable(text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text);
}

/** Text of the file in a message. */
export function quote(text: string): string {
  return `«${clean(text, 60)}»`;
}

/** Returns the candidate that is most similar to a word, if one is similar enough to be a typing error. */
export function closestTo(word: string, candidates: readonly string[]): string | null {
  return suggestionList(word.slice(0, 64), candidates)[0] ?? null;
}
