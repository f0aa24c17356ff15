import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';

/** The largest file in bytes. A model has a few kilobytes. */
const LARGEST = 1_000_000;
/** The largest number of nodes that aliases may stand for, for each alias. */
const MOST_ALIASES = 100;

/** A place in a file, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem in the model file. The text has the cause and the cure, each a sentence without its full stop at the end. */
export interface ModelProblem extends Place {
  readonly text: string;
}

export type Path = readonly PropertyKey[];

const START: Place = { line: 1, column: 1 };

/** Reads a text file of bounded size. Returns why it cannot be used, as the end of a sentence, if it cannot. */
export function readBoundedText(file: string): { text: string } | { problem: string } {
  try {
    const descriptor = openSync(file, 'r');
    try {
      if (!fstatSync(descriptor).isFile()) return { problem: 'names something that is not a file' };
      const bytes = Buffer.alloc(LARGEST + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(descriptor, bytes, length, bytes.length - length, null);
      if (length > LARGEST) return { problem: `names a file of more than ${LARGEST} bytes` };
      const content = bytes.subarray(0, length);
      return isUtf8(content)
        ? { text: content.toString('utf8') }
        : { problem: 'names a file that is not UTF-8' };
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return { problem: 'names a file that cannot be read' };
  }
}

/** A YAML document whose values keep their places. */
export class YamlFile {
  readonly problems: readonly ModelProblem[];
  /** The document as values of JSON; undefined if it is malformed. */
  readonly value: unknown;
  private readonly counter = new LineCounter();
  private document: Document | null = null;

  constructor(text: string) {
    const problems: ModelProblem[] = [];
    this.value = this.parse(text, problems);
    this.problems = problems;
  }

  /** The place of the key at the end of a path, or of the nearest part of the path that exists. */
  placeOfKey(path: Path): Place {
    return this.find(path, true);
  }

  /** The place of the value at the end of a path, or of the nearest part of the path that exists. */
  placeOfValue(path: Path): Place {
    return this.find(path, false);
  }

  private parse(text: string, problems: ModelProblem[]): unknown {
    try {
      // The library compares each key with all others of its map, which takes minutes for a large one.
      const options = { lineCounter: this.counter, prettyErrors: false, stringKeys: true, uniqueKeys: false };
      const document = (this.document = parseDocument(text, options));
      for (const { message, pos } of document.errors)
        problems.push({ ...this.placeAt(pos[0]), text: `The YAML is malformed: ${firstLine(message)}` });
      problems.push(...this.wrongKeys(document));
      if (problems.length > 0) return undefined;
      return document.toJS({ maxAliasCount: MOST_ALIASES }) as unknown;
    } catch (error) {
      problems.push(this.explain(error));
      return undefined;
    }
  }

  private explain(error: unknown): ModelProblem {
    if (error instanceof RangeError)
      return { ...START, text: 'The YAML is nested too deeply. Use fewer levels' };
    if (!(error instanceof ReferenceError)) throw error;
    const place = this.firstAlias();
    const isUnknown = error.message.startsWith('Unresolved');
    const text = isUnknown ? 'An alias names no anchor before it' : 'The aliases stand for too many values';
    return { ...place, text: `${text}. Write the values out` };
  }

  private firstAlias(): Place {
    let place = START;
    if (this.document === null) return place;
    visit(this.document, {
      Alias: (_key, alias) => {
        place = this.placeOf(alias) ?? place;
        return visit.BREAK;
      },
    });
    return place;
  }

  private wrongKeys(document: Document): ModelProblem[] {
    const problems: ModelProblem[] = [];
    visit(document, {
      Map: (_key, { items }) => {
        const known = new Set<string>();
        for (const { key } of items) {
          const name = isScalar(key) ? String(key.value) : '';
          const place = this.placeOf(key) ?? START;
          if (known.has(name))
            problems.push({ ...place, text: `The key ${quote(name)} occurs twice. Keep one of them` });
          if (name === '__proto__')
            problems.push({ ...place, text: `The key ${quote(name)} is reserved. Remove it` });
          known.add(name);
        }
      },
    });
    return problems;
  }

  private find(path: Path, wantsKey: boolean): Place {
    let node = this.resolve(this.document?.contents);
    let place = this.placeOf(node) ?? START;
    for (const [index, step] of path.entries()) {
      const found = childOf(node, step);
      if (found === null) break;
      place = this.placeOf(found.key) ?? place;
      if (wantsKey && index === path.length - 1) break;
      place = this.placeOf(found.value) ?? place;
      node = this.resolve(found.value);
    }
    return place;
  }

  private resolve(node: unknown): unknown {
    return isAlias(node) && this.document !== null ? node.resolve(this.document) : node;
  }

  private placeOf(node: unknown): Place | null {
    const range = (node as Node | null | undefined)?.range;
    return range === null || range === undefined ? null : this.placeAt(range[0]);
  }

  private placeAt(offset: number): Place {
    const { line, col } = this.counter.linePos(offset);
    return line === 0 ? START : { line, column: col };
  }
}

/** The key and the value of a map, or an item of a list. */
function childOf(node: unknown, step: PropertyKey): { key: unknown; value: unknown } | null {
  if (isSeq(node)) {
    const value = node.items[Number(step)];
    return value === undefined ? null : { key: value, value };
  }
  if (!isMap(node)) return null;
  return node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step)) ?? null;
}

/** Text of the file in a message: bounded, and without control characters. */
export function quote(text: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return `«${shown.replace(/\p{Cc}/gu, ' ')}»`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.trim() ?? '';
}
