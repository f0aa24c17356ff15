import { Marked, type RendererObject, type Token, type Tokens } from 'marked';
import { ERROR_CODES } from '../../src/common/errors.js';
import { escapeHtml } from '../../src/pages/html.js';
import { highlight } from './highlight.mjs';
import { linkFrom, type PageName } from './links.js';

/** Rules of both renderers: HTML is escaped, and links lead only to places of the pages. */
const COMMON: RendererObject = {
  html: ({ text }) => escapeHtml(text),
  // The first word is the language, the rest is the label of the block.
  code: ({ text, lang = '' }) => {
    const [, language = '', label] = /^(\w+)(?: (.+))?$/.exec(lang) ?? [];
    return codeBlock(text, language, label);
  },
};

/** Renderer of Markdown that is written by hand. */
const texts = new Marked({
  renderer: {
    ...COMMON,
    heading({ tokens, depth, text }: Tokens.Heading) {
      return `<h${depth} id="${escapeHtml(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens, text }: Tokens.Link) {
      if (/^https?:/.test(href))
        return `<a href="${escapeHtml(href)}">${this.parser.parseInline(tokens)}</a>`;
      // A page of the repository, which is not served.
      return text.endsWith('.md') ? `<code>docs/${escapeHtml(text)}</code>` : this.parser.parseInline(tokens);
    },
  },
});

/** Replacements of section titles: a type can also be a member of a union, not only the type of a field. */
const TITLES: Readonly<Record<string, string>> = {
  'Returned By': 'Given by',
  'Member Of': 'Used in',
  'Implemented By': 'One of the kinds of',
};

/** Renderer of Markdown from the generator. */
const definitions = new Marked({
  renderer: {
    ...COMMON,
    heading(heading: Tokens.Heading) {
      const name = nameOf(heading);
      const inner = this.parser.parseInline(heading.tokens.slice(name === null ? 0 : 1));
      if (name === null) return `<h${heading.depth}>${TITLES[heading.text] ?? inner}</h${heading.depth}>\n`;
      // The page already has a heading above. Each heading links to itself, so that its address can be
      // copied.
      const [level, id] = heading.depth === 1 ? [2, ''] : [heading.depth, ` id="${escapeHtml(name)}"`];
      const shown = name.slice(name.lastIndexOf('.') + 1);
      const rest = inner === '' ? '' : ` <small>${inner.trim()}</small>`;
      return `<h${level}${id}><a href="#${escapeHtml(name)}"><code>${breakable(shown)}</code></a>${rest}</h${level}>\n`;
    },
    codespan: ({ text }) => `<code>${breakable(text)}</code>`,
    link({ href, tokens }: Tokens.Link) {
      const inner = this.parser.parseInline(tokens);
      return href === '' ? inner : `<a href="${escapeHtml(href)}">${inner}</a>`;
    },
    text(token) {
      if ('tokens' in token && token.tokens) return this.parser.parseInline(token.tokens);
      return linkCodes('escaped' in token && token.escaped ? token.text : escapeHtml(token.text), 'queries');
    },
  },
});

/** Renders a whole text, with its paragraphs and headings. */
export function renderMarkdown(text: string): string {
  return texts.parse(text, { async: false });
}

/** Renders the generator's Markdown of a definition. */
export function renderDefinition(markdown: string): string {
  return definitions.parse(markdown, { async: false });
}

/** Returns the tokens of the generator's Markdown. */
export function partsOf(markdown: string): Token[] {
  return definitions.lexer(markdown);
}

/**
 * Returns the name in a heading of the generator, such as `users`, `User.name` or `User.photo.size`. Null:
 * the heading is a section or has no name.
 */
export function nameOf({ depth, text, tokens: [first] }: Tokens.Heading): string | null {
  if (depth === 1) return text;
  const isOwn = first?.type === 'link' && first['href'] === '#';
  return isOwn ? String(first['text']).replaceAll('`', '') : null;
}

/** Renders the content of a paragraph. Error codes become links to their description. */
export function renderInline(text: string, page: PageName): string {
  return linkCodes(texts.parseInline(text, { async: false }), page);
}

function linkCodes(html: string, page: PageName): string {
  return html.replace(
    CODE,
    (code) => `<a href="${linkFrom(page, `errors#${code}`)}"><code>${code}</code></a>`,
  );
}

const CODE = new RegExp(`\\b(${ERROR_CODES.join('|')})\\b`, 'g');

/** Renders a code block. If it is wider than the page, it can be scrolled with the keyboard too. */
function codeBlock(text: string, word: string, label = 'Code'): string {
  const code = highlight(text, word) ?? escapeHtml(text);
  return `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${code}</code></pre>\n`;
}

/** Returns only the text of Markdown, for the search. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/```[\s\S]*?```/g, ' ')
    .replace(/^> ?/gm, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Allows line breaks in a long name before each word. */
export function breakable(name: string): string {
  return escapeHtml(name).replace(/(?<=[a-z])(?=[A-Z])|(?<=_)/g, '<wbr>');
}

/**
 * Returns the anchor of a heading. Error codes stay unchanged; other headings get anchors in the style of
 * code forges.
 */
function anchorOf(heading: string): string {
  return /^[A-Z_]+$/.test(heading) ? heading : heading.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
}
