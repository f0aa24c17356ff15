import { readFileSync, statSync } from 'node:fs';
import { suggestionList } from 'graphql/jsutils/suggestionList.js';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { z } from 'zod';
import { printable } from '../../common/printable.js';

/** The largest file in bytes. A model has a few kilobytes. */
const MOST_BYTES = 100_000;
/** The most problems that are listed. */
const MOST_PROBLEMS = 100;
/** The most aliases of a file, and values that all uses of one stand for. The library compares each with all before it. */
const MOST_ALIASES = 1000;
const MOST_VALUES = 100;

/** The library compares each key with all others of its map, which takes minutes for a large one. */
const OPTIONS = {
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
  prettyErrors: false,
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

/** A YAML document whose values keep their places. */
export class YamlFile {
  readonly problems: readonly FileProblem[];
  /** The document as values of JSON; undefined if it is malformed. */
  readonly value: unknown;
  private readonly lines = new LineCounter();
  private readonly document: Document;

  constructor(readonly text: string) {
    this.document = parseDocument(text, { ...OPTIONS, lineCounter: this.lines });
    // Without its warnings about tags and directives, the library would read the file.
    const { errors, warnings } = this.document;
    const found = [...errors, ...warnings];
    // What is too deep is full of errors.
    const deep = found.filter(({ code }) => code === 'RESOURCE_EXHAUSTION').slice(0, 1);
    const malformed = (deep.length > 0 ? deep : found).map(({ code, message, pos }) => {
      const place = this.placeAt(deep.length > 0 ? 0 : pos[0]);
      const cause = CAUSES[code] ?? clean(message.split('\n', 1)[0] ?? '');
      return { ...place, text: `The YAML is malformed: ${cause}. ${this.cureAt(place)}` };
    });
    const { value, problems } = found.length > 0 ? { value: undefined, problems: [] } : this.evaluate();
    this.value = value;
    this.problems = [...malformed, ...problems];
  }

  /** The place of the last part of a path that exists: its key, or its value. */
  placeOf(path: Path, part: 'key' | 'value'): Place {
    let node: unknown = this.document.contents;
    let offset = offsetOf(node) ?? 0;
    for (const [index, step] of path.entries()) {
      const pair = isMap(node)
        ? node.items.find(({ key }) => isScalar(key) && key.value === step)
        : undefined;
      const value: unknown = isSeq(node) ? node.items[Number(step)] : pair?.value;
      const isLast = index === path.length - 1;
      offset = (part === 'value' || !isLast ? offsetOf(value) : undefined) ?? offsetOf(pair?.key) ?? offset;
      node = value;
    }
    return this.placeAt(offset);
  }

  private cureAt({ line }: Place): string {
    return /\btype:\s+\[\w+!?\]!/.test(this.text.split('\n', line).at(-1) ?? '')
      ? 'A type of a list has to be quoted, such as "[String!]!"'
      : 'Check the indentation, quotes, brackets and colons here';
  }

  private evaluate(): { value: unknown; problems: FileProblem[] } {
    const problems: FileProblem[] = [];
    const aliases: unknown[] = [];
    visit(this.document, {
      Alias: (_key, alias) => void aliases.push(alias),
      Map: (_key, { items }) => {
        const known = new Set<string>();
        for (const { key } of items) {
          const name = isScalar(key) ? String(key.value) : '';
          const text = `The key ${quote(name)} occurs twice. Keep one of them`;
          if (known.has(name)) problems.push({ ...this.placeAt(offsetOf(key) ?? 0), text });
          known.add(name);
        }
      },
    });
    try {
      if (aliases.length > MOST_ALIASES) throw new ReferenceError(`More than ${MOST_ALIASES} aliases`);
      const value: unknown = this.document.toJS({ maxAliasCount: MOST_VALUES });
      // A file that was cut off must not hide the rules that it had.
      const text = 'The file is empty. Write its keys, or remove its setting';
      const isEmpty = value === null && !this.text.includes('#');
      return { value, problems: isEmpty ? [{ line: 1, column: 1, text }] : problems };
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      const text = `${clean(error.message)}. Write the values out`;
      const place = this.placeAt(offsetOf(aliases[0]) ?? 0);
      return { value: undefined, problems: [...problems, { ...place, text }] };
    }
  }

  private placeAt(offset: number): Place {
    const { line, col } = this.lines.linePos(offset);
    return line === 0 ? { line: 1, column: 1 } : { line, column: col };
  }
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/**
 * Reads a file that a setting names, and checks its text.
 * @returns null instead of a result if it cannot be read; one line for each problem: FILE:LINE:COLUMN, cause and cure
 */
export function readYaml<Checked extends { readonly problems: readonly FileProblem[] }>(
  setting: string,
  file: string,
  check: (text: string) => Checked,
): { checked: Checked | null; problems: readonly string[] } {
  let text: string;
  try {
    const status = statSync(file);
    // A pipe would wait for a writer.
    if (!status.isFile() || status.size > MOST_BYTES)
      throw new Error(`no file of at most ${MOST_BYTES} bytes`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const cause = `${setting} names a file that cannot be read (${code ?? message})`;
    return { checked: null, problems: [`${cause}: ${file}. Write the path of a YAML file in UTF-8.`] };
  }
  const checked = check(text);
  return { checked, problems: describeProblems(file, checked.problems) };
}

/** One line for each problem, in the order of the file. */
export function describeProblems(file: string, problems: readonly FileProblem[]): string[] {
  const lines = [...problems]
    .sort((left, right) => left.line - right.line || left.column - right.column)
    .slice(0, MOST_PROBLEMS)
    .map(({ line, column, text }) => `${file}:${line}:${column}: ${text}${/[.?]$/.test(text) ? '' : '.'}`);
  const more = problems.length - lines.length;
  return more > 0 ? [...lines, `${file}: ${more} more ${more === 1 ? 'problem' : 'problems'}.`] : lines;
}

const NOT_A_MAP = 'is not a map. Write keys and values, or remove the key';
const OTHER_TYPES: Readonly<Record<string, string>> = {
  object: NOT_A_MAP,
  record: NOT_A_MAP,
  array: 'is not a list. Write a list',
  boolean: 'is neither true nor false. Write true or false',
  string: 'is missing or no text. Write a text',
};

/** Messages are the ends of sentences whose subject is the key or the value. These are for what has none of its own. */
const wordingOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type') return OTHER_TYPES[issue.expected];
  if (issue.code === 'invalid_value')
    return `is not one of the possible values. Write ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small') return 'is empty. Write at least one value';
  if (issue.code === 'too_big')
    return `has more than ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'values'}. Shorten it`;
  // The keys that are known.
  if (issue.code === 'unrecognized_keys') return Object.keys((issue.inst as z.ZodObject).shape).join(', ');
  return undefined;
};

/**
 * Compares a file with its declaration. The problems include those of YAML.
 * @returns the rest of the file after the removal of invalid parts, so that everything else can be checked, too; null: nothing
 */
export function checkShape<Shape>(
  file: YamlFile,
  schema: z.ZodType<Shape>,
): { readonly shape: Shape | null; readonly problems: readonly FileProblem[] } {
  if (file.value === undefined) return { shape: null, problems: file.problems };
  // An empty file is a map without keys.
  const value: unknown = structuredClone(file.value ?? {});
  const { data, error } = schema.safeParse(value, { error: wordingOf });
  if (error === undefined) return { shape: data, problems: file.problems };
  const issues = specific(error.issues);
  for (const issue of issues) removePart(value, issue);
  const problems = [...file.problems, ...issues.map((issue) => describe(issue, file))];
  return { shape: schema.safeParse(value).data ?? null, problems };
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

function describe({ code, path, message }: Issue, file: YamlFile): FileProblem {
  const nameOfPath = (each: Path) => (each.length === 0 ? 'the file' : clean(each.map(String).join('.')));
  const name = String(path.at(-1));
  const key = { ...file.placeOf(path, 'key'), text: `${quote(name)} in ${nameOfPath(path.slice(0, -1))}` };
  if (code === 'unrecognized_keys') {
    const cure = didYouMean(name, message.split(', '), `Remove it: the keys here are ${message}`);
    return { ...key, text: `${key.text} is unknown. ${cure}` };
  }
  if (code === 'invalid_key') return { ...key, text: `${key.text} ${message}` };
  const isMissing = code !== 'custom' && valueAt(file.value, path) === undefined;
  const place = file.placeOf(path, isMissing ? 'key' : 'value');
  return { ...place, text: `${nameOfPath(path)} ${isMissing ? 'is missing. Add it' : message}` };
}

/** Removes the field, the list or the value that has an issue. No other one depends on it. */
function removePart(root: unknown, { code, path }: Issue): void {
  const part = code === 'unrecognized_keys' ? path : path.slice(0, path[1] === 'fields' ? 3 : 2);
  const parent = valueAt(root, part.slice(0, -1));
  if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, part.at(-1) ?? '');
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
function clean(text: string, most = 200): string {
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

/** Asks for the closest candidate, or says something else. */
export function didYouMean(word: string, candidates: readonly string[], otherwise: string): string {
  const closest = closestTo(word, candidates);
  return closest === null ? otherwise : `Did you mean ${closest}?`;
}
