import { Marked, type RendererObject, type Token, type Tokens } from 'marked';
import { ERROR_CODES } from '../../common/errors.js';
import { escapeHtml } from '../../pages/html.js';
import { linkFrom, type PageName } from './links.js';

/** Without HTML of its own, and with links only to where the pages lead. */
const COMMON: RendererObject = {
  html: ({ text }) => escapeHtml(text),
  // The first word is the language, and what follows says what it shows.
  code: ({ text, lang = '' }) => codeBlock(text, /^\w+ (.+)$/.exec(lang)?.[1]),
};

/** Markdown of ours. */
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

/** Sections that have a plainer name here: a type is a member of a union as well as of other types. */
const TITLES: Readonly<Record<string, string>> = {
  'Returned By': 'Given by',
  'Member Of': 'Used in',
  'Implemented By': 'One of the kinds of',
};

/** Markdown of the generator. */
const definitions = new Marked({
  renderer: {
    ...COMMON,
    heading(heading: Tokens.Heading) {
      const name = nameOf(heading);
      const inner = this.parser.parseInline(heading.tokens.slice(name === null ? 0 : 1));
      if (name === null) return `<h${heading.depth}>${TITLES[heading.text] ?? inner}</h${heading.depth}>\n`;
      // The page has a heading above it, and a link to itself, so that its address can be copied.
      const [level, id] = heading.depth === 1 ? [2, ''] : [heading.depth, ` id="${name}"`];
      const shown = name.slice(name.lastIndexOf('.') + 1);
      const rest = inner === '' ? '' : ` <small>${inner.trim()}</small>`;
      return `<h${level}${id}><a href="#${name}"><code>${breakable(shown)}</code></a>${rest}</h${level}>\n`;
    },
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

/** A whole text, with its paragraphs and headings. */
export function renderMarkdown(text: string): string {
  return texts.parse(text, { async: false });
}

/** What the generator has written about a definition. */
export function renderDefinition(markdown: string): string {
  return definitions.parse(markdown, { async: false });
}

/** The parts of what the generator has written. */
export function partsOf(markdown: string): Token[] {
  return definitions.lexer(markdown);
}

/** What a heading of the generator names, such as `users`, `User.name` or `User.photo.size`; null: a section, or something else. */
export function nameOf({ depth, text, tokens: [first] }: Tokens.Heading): string | null {
  if (depth === 1) return text;
  const isOwn = first?.type === 'link' && first['href'] === '#';
  return isOwn ? String(first['text']).replaceAll('`', '') : null;
}

/** What stands within a paragraph of a page. Codes of errors lead to where they are explained. */
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

/** What a block of code shows; it can be scrolled by keys too, where it is wider than the page. */
function codeBlock(text: string, label = 'Code'): string {
  return `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(text)}</code></pre>\n`;
}

/** What can be searched: the text alone. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/```[\s\S]*?```/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** A long name may go on in the next line where a word begins. */
function breakable(name: string): string {
  return escapeHtml(name).replace(/(?<=[a-z])(?=[A-Z])|(?<=_)/g, '<wbr>');
}

/** Codes stay as they are, and other headings get anchors as forges make them. */
function anchorOf(heading: string): string {
  return /^[A-Z_]+$/.test(heading) ? heading : heading.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
}
