import type { Tokens } from 'marked';
import type { PageName } from './links.js';
import { nameOf, partsOf, plainText } from './markdown.js';

/** An entry of the search. */
export interface SearchEntry {
  /** Place of its description, below `/reference/`. */
  readonly place: string;
  readonly title: string;
  /** Kind of the entry in one or two words. */
  readonly kind: string;
  readonly text: string;
}

/** Kinds of the definitions of a page. */
const KINDS: Readonly<Partial<Record<PageName, string>>> = {
  queries: 'query',
  mutations: 'mutation',
  objects: 'object',
  inputs: 'input',
  values: 'type',
};
/** Kinds of the items in a section of a definition. */
const MEMBERS: Readonly<Record<string, string>> = { Fields: 'field', Values: 'value' };

/**
 * Returns the entries of a definition, its members and their arguments, with their descriptions, from the
 * generator's Markdown.
 */
export function definitionEntries(page: PageName, markdown: string): SearchEntry[] {
  const entries: SearchEntry[] = [];
  let section = '';
  let isOpen = false;
  for (const part of partsOf(markdown)) {
    const entry = entries.at(-1);
    if (part.type === 'heading') {
      const heading = part as Tokens.Heading;
      const name = nameOf(heading);
      isOpen = name !== null;
      if (heading.depth === 3) section = heading.text;
      if (name === null) continue;
      const kind = heading.depth === 1 ? KINDS[page] : heading.depth === 4 ? MEMBERS[section] : undefined;
      entries.push({ place: `${page}#${name}`, title: name, kind: kind ?? 'argument', text: '' });
    } else if (isOpen && entry !== undefined && /^(paragraph|blockquote|list)$/.test(part.type)) {
      entries[entries.length - 1] = { ...entry, text: `${entry.text} ${plainText(part.raw)}`.trim() };
    }
  }
  return entries;
}

/** Returns the entries of the chapters about errors, in which each code is a heading of level 3. */
export function errorEntries(markdown: string): SearchEntry[] {
  return markdown
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [code = '', ...lines] = section.split('\n');
      const text = plainText(lines.join('\n').split(/^## /m)[0] ?? '');
      return { place: `errors#${code}`, title: code, kind: 'error', text };
    });
}
