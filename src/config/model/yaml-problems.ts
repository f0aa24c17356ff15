import { type CST, type Document, isAlias, isScalar, type Node, visit, type YAMLMap } from 'yaml';
import { clean, quote } from './quote.js';

/** A problem at an offset of the text. See ModelProblem for the form of the text. */
export interface YamlProblem {
  readonly offset: number;
  readonly text: string;
}

/** The most levels of maps and lists. A model has five. */
const MOST_LEVELS = 20;
/** The most aliases of a file: the library compares each with all values before it. */
const MOST_ALIASES = 1000;
/** Keys that are not data: of YAML 1.1, and of JavaScript. */
const RESERVED: Readonly<Record<string, string>> = {
  '<<': 'The key «<<» would merge another map, which YAML 1.2 does not know. Write the keys out',
  ['__proto__']: 'The key «__proto__» is reserved. Remove it',
};

/** Control characters other than tabs and ends of lines, and code units that are no characters. */
const FORBIDDEN = /[^\P{Cc}\t\n\r]|[\p{Cs}\ufffe\uffff]/u;
/** The same in a value, whose lines end in a line feed. */
const FORBIDDEN_IN_VALUE = /[^\P{Cc}\t\n]|[\p{Cs}\ufffe\uffff]/u;

/** Finds characters that no YAML file has (YAML 1.2.2, section 5.1), so that all later texts can be printed. */
export function findForbidden(text: string): YamlProblem[] {
  const found = FORBIDDEN.exec(text);
  return found === null ? [] : [{ offset: found.index, text: explainCharacter(found[0]) }];
}

function explainCharacter(character: string): string {
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `The character U+${code} is a control character or invalid. Remove it`;
}

/** Finds what prevents documents from being composed: too many levels, which recursion cannot follow, or a second document. */
export function findUnreadable(tokens: readonly CST.Token[]): YamlProblem[] {
  const [, second] = tokens.filter(({ type }) => type === 'document');
  if (second !== undefined)
    return [{ offset: second.offset, text: 'A second document begins here. Keep one, without the line ---' }];
  const waiting = tokens.map((token) => ({ token, level: 0 }));
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const { token, level } = each;
    if (level > MOST_LEVELS)
      return [{ offset: token.offset, text: `The YAML has more than ${MOST_LEVELS} levels. Use fewer` }];
    for (const inner of partsOf(token)) waiting.push({ token: inner, level: level + 1 });
  }
  return [];
}

function partsOf(token: CST.Token): CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value];
  if (!('items' in token)) return [];
  return token.items.flatMap(({ key, value }) => [key ?? [], value ?? []].flat());
}

/** Cures by the code of an error of the library. */
const CURES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'Indent with spaces',
  BAD_INDENT: 'Indent the keys of a map by the same number of spaces, and what is inside by more',
  BAD_DQ_ESCAPE: 'Write \\\\ for a backslash, or use single quotes',
  BAD_SCALAR_START: 'Put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'Begin the inner map on a line of its own, or put the value in quotes',
  MULTILINE_IMPLICIT_KEY: 'Write «: » after the key, on the same line',
  NON_STRING_KEY: 'Write a text as the key',
  MISSING_CHAR: 'Add what is missing here, or put the text in quotes',
};

/** Describes errors of the library. Its messages may contain long parts of the file. */
export function describeErrors({ errors }: Document): YamlProblem[] {
  return errors.map(({ code, message, pos: [offset] }) => {
    const cause = clean(message.split('\n', 1)[0]?.trim() ?? '');
    return {
      offset,
      text: `The YAML is malformed: ${cause}. ${CURES[code] ?? 'Check the indentation, quotes, brackets and colons here'}`,
    };
  });
}

/** The type of a list without quotes. */
const UNQUOTED_TYPE = /(?<=\btype:[ \t]+)\[(\w+)!?\]!/g;

/**
 * Finds types of lists without quotes, which are malformed.
 * @returns also the text with the type of one value in their places, in which other problems can be found
 */
export function findUnquotedTypes({ errors }: Document, text: string) {
  const problems: YamlProblem[] = [];
  const rest = text.replace(UNQUOTED_TYPE, (type, value: string, offset: number) => {
    const isMalformed = errors.some(({ pos: [at] }) => at >= offset && at <= offset + type.length);
    if (!isMalformed) return type;
    problems.push({
      offset,
      text: `The YAML is malformed: ${quote(type)} has to be quoted: "[${clean(value, 60)}!]!"`,
    });
    return value.padEnd(type.length);
  });
  return { problems, rest };
}

/** Tags that the library does not resolve, and directives that it ignores. The file would be read as if there were none. */
export function describeWarnings({ warnings }: Document, text: string): YamlProblem[] {
  return warnings.flatMap(({ code, pos: [offset, end] }) => {
    if (code === 'TAG_RESOLVE_FAILED' || code === 'BAD_COLLECTION_TYPE')
      return [{ offset, text: `The tag ${quote(text.slice(offset, end))} cannot be resolved. Remove it` }];
    return code === 'BAD_DIRECTIVE' ? [{ offset, text: WRONG_DIRECTIVE }] : [];
  });
}

const WRONG_DIRECTIVE = 'This directive is neither %YAML 1.2 nor %YAML 1.1. Remove the line';

/** Finds aliases that cannot be resolved. */
export function findWrongAliases(document: Document): YamlProblem[] {
  const problems: YamlProblem[] = [];
  const anchors = new Set<string>();
  let count = 0;
  visit(document, {
    Node: (_key, node) => {
      const anchor = isAlias(node) ? undefined : node.anchor;
      if (anchor !== undefined) anchors.add(anchor);
      if (!isAlias(node)) return undefined;
      if (!anchors.has(node.source))
        problems.push({
          offset: offsetOf(node),
          text: 'An alias names no anchor before it. Write the values out',
        });
      return ++count > MOST_ALIASES ? visit.BREAK : undefined;
    },
  });
  if (count > MOST_ALIASES)
    problems.push({
      offset: 0,
      text: `The file has more than ${MOST_ALIASES} aliases. Write the values out`,
    });
  return problems;
}

/** Finds keys and texts that a model cannot have, and removes the keys that are not data. */
export function findWrongParts(document: Document): YamlProblem[] {
  const problems: YamlProblem[] = [];
  visit(document, {
    Map: (_key, map) => {
      for (const each of wrongKeys(map)) problems.push(each);
      map.items = map.items.filter(({ key }) => !Object.hasOwn(RESERVED, nameOf(key)));
    },
    Scalar: (_key, scalar) => {
      const [character] = (typeof scalar.value === 'string' && FORBIDDEN_IN_VALUE.exec(scalar.value)) || [];
      if (character !== undefined)
        problems.push({ offset: offsetOf(scalar), text: explainCharacter(character) });
    },
  });
  return problems;
}

function wrongKeys({ items }: YAMLMap): YamlProblem[] {
  const known = new Set<string>();
  return items.flatMap(({ key }) => {
    const name = nameOf(key);
    const isKnown = known.has(name);
    known.add(name);
    const reserved = Object.hasOwn(RESERVED, name) ? RESERVED[name] : undefined;
    const text = reserved ?? (isKnown ? `The key ${quote(name)} occurs twice. Keep one of them` : undefined);
    return text === undefined ? [] : [{ offset: offsetOf(key), text }];
  });
}

function nameOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}

export function offsetOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}
