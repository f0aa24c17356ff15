import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  visit,
  type YAMLMap,
} from 'yaml';
import {
  describeErrors,
  describeWarnings,
  findForbidden,
  findUnquotedTypes,
  findUnreadable,
  findWrongAliases,
  findWrongParts,
  offsetOf,
  type YamlProblem,
} from './yaml-problems.js';

/** The largest number of nodes that aliases may stand for, for each alias. */
const MOST_NODES = 100;
/** The largest number of lexical tokens. A large model has 20,000. */
const MOST_PARTS = 300_000;
const TOO_LARGE: YamlProblem = {
  offset: 0,
  text: `The YAML has more than ${MOST_PARTS} tokens. Check that it is the right file`,
};
const MODEL_CURE = 'Write the model into it, or remove DIRECTORY_MODEL';

/** The value of a document; undefined if it is malformed. */
interface Parsed {
  readonly value: unknown;
  readonly problems: readonly YamlProblem[];
}

/**
 * The same for all versions of YAML that a file may declare. The library compares each key with all others of its map, which
 * takes minutes for a large one.
 */
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

/** A problem in the model file. The text has the cause and the cure, each a sentence without its full stop at the end. */
export interface ModelProblem extends Place {
  readonly text: string;
}

export type Path = readonly PropertyKey[];

type Item = YAMLMap['items'][number];

const START: Place = { line: 1, column: 1 };

/** A YAML document whose values keep their places. */
export class YamlFile {
  readonly problems: readonly ModelProblem[];
  /** The document as values of JSON; undefined if it is malformed. */
  readonly value: unknown;
  private readonly counter = new LineCounter();
  private document: Document | null = null;
  /** The items of maps by their keys: a map can have many problems. */
  private readonly items = new WeakMap<YAMLMap, ReadonlyMap<string, Item>>();

  /** @param emptyCure what to do with an empty file */
  constructor(
    readonly text: string,
    private readonly emptyCure = MODEL_CURE,
  ) {
    const { value, problems } = this.parse(text);
    this.value = value;
    this.problems = problems.map(({ offset, text: cause }) => ({ ...this.placeAt(offset), text: cause }));
  }

  /** The place of the key at the end of a path, or of the nearest part of the path that exists. */
  placeOfKey(path: Path): Place {
    return this.find(path, true);
  }

  /** The place of the value at the end of a path, or of the nearest part of the path that exists. */
  placeOfValue(path: Path): Place {
    return this.find(path, false);
  }

  private parse(text: string): Parsed {
    const isBounded = countParts(text) <= MOST_PARTS;
    const tokens = isBounded ? [...new Parser(this.counter.addNewLine).parse(text)] : [];
    const unreadable = [...(isBounded ? [] : [TOO_LARGE]), ...findForbidden(text), ...findUnreadable(tokens)];
    if (unreadable.length > 0) return { value: undefined, problems: unreadable };
    const [document] = new Composer(OPTIONS).compose(tokens, true, text.length);
    if (document === undefined) return { value: undefined, problems: [] };
    const errors = describeErrors(document);
    if (errors.length > 0) {
      const { problems, rest } = findUnquotedTypes(document, text);
      return problems.length === 0 ? { value: undefined, problems: errors } : this.parseRest(rest, problems);
    }
    this.document = document;
    const aliases = findWrongAliases(document);
    if (aliases.length > 0) return { value: undefined, problems: aliases };
    const problems = describeWarnings(document, text).concat(findWrongParts(document));
    const evaluated = evaluate(document, text, this.emptyCure);
    return { value: evaluated.value, problems: problems.concat(evaluated.problems) };
  }

  /** Parses the text without the problems that are known, whose lines are the same. */
  private parseRest(text: string, known: readonly YamlProblem[]): Parsed {
    this.counter.lineStarts = [];
    const { value, problems } = this.parse(text);
    return { value, problems: [...known, ...problems] };
  }

  private find(path: Path, wantsKey: boolean): Place {
    let node = this.resolve(this.document?.contents);
    let offset = offsetOf(node);
    for (const [index, step] of path.entries()) {
      const found = this.childOf(node, step);
      if (found === null) break;
      offset = offsetOf(found.key) || offset;
      if (wantsKey && index === path.length - 1) break;
      offset = offsetOf(found.value) || offset;
      node = this.resolve(found.value);
    }
    return this.placeAt(offset);
  }

  private resolve(node: unknown): unknown {
    return isAlias(node) && this.document !== null ? node.resolve(this.document) : node;
  }

  /** The key and the value of a map, or an item of a list. */
  private childOf(node: unknown, step: PropertyKey): { key: unknown; value: unknown } | null {
    if (isSeq(node)) {
      const value = node.items[Number(step)];
      return value === undefined ? null : { key: value, value };
    }
    return isMap(node) ? (this.itemsOf(node).get(String(step)) ?? null) : null;
  }

  private itemsOf(map: YAMLMap): ReadonlyMap<string, Item> {
    const known = this.items.get(map);
    if (known !== undefined) return known;
    const items = new Map(
      map.items.flatMap((item) => (isScalar(item.key) ? [[String(item.key.value), item] as const] : [])),
    );
    this.items.set(map, items);
    return items;
  }

  private placeAt(offset: number): Place {
    const { line, col } = this.counter.linePos(offset);
    return line === 0 ? START : { line, column: col };
  }
}

/** The number of lexical tokens, up to the first beyond the limit. */
function countParts(text: string): number {
  let count = 0;
  for (const part of new Lexer().lex(text)) if (part !== '' && ++count > MOST_PARTS) break;
  return count;
}

function evaluate(document: Document, text: string, emptyCure: string): Parsed {
  try {
    const value: unknown = document.toJS({ maxAliasCount: MOST_NODES });
    // A file that was cut off must not hide the rules that it had.
    const isEmpty = value === null && !text.includes('#');
    return { value, problems: isEmpty ? [{ offset: 0, text: `The file is empty. ${emptyCure}` }] : [] };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return {
      value: undefined,
      problems: [
        {
          offset: firstAlias(document),
          text: 'The aliases stand for too many values. Write the values out',
        },
      ],
    };
  }
}

function firstAlias(document: Document): number {
  let offset = 0;
  visit(document, {
    Alias: (_key, alias) => {
      offset = offsetOf(alias);
      return visit.BREAK;
    },
  });
  return offset;
}
