import { Marked, type Tokens } from 'marked';
import { ERROR_CODES } from '../../common/errors.js';
import { escapeHtml } from '../../pages/html.js';
import { linkFrom, type PageName } from './links.js';

/** Markdown of ours as HTML: without HTML of its own, and with links only to where the pages lead. */
const marked = new Marked({
  renderer: {
    html: ({ text }) => escapeHtml(text),
    heading({ tokens, depth, text }: Tokens.Heading) {
      return `<h${depth} id="${escapeHtml(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens, text }: Tokens.Link) {
      if (/^https?:/.test(href))
        return `<a href="${escapeHtml(href)}">${this.parser.parseInline(tokens)}</a>`;
      // A page of the repository, which is not served.
      return text.endsWith('.md') ? `<code>docs/${escapeHtml(text)}</code>` : this.parser.parseInline(tokens);
    },
    table(token: Tokens.Table) {
      const row = (cells: Tokens.TableCell[], tag: string) =>
        `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
      const rows = token.rows.map((cells) => row(cells, 'td')).join('\n');
      return `<table><thead>${row(token.header, 'th')}</thead><tbody>${rows}</tbody></table>\n`;
    },
    code: ({ text }) => codeBlock(text),
  },
});

/** A whole text, with its paragraphs and headings. */
export function renderMarkdown(text: string): string {
  return marked.parse(text, { async: false });
}

/** What stands within a paragraph of a page. Codes of errors lead to where they are explained. */
export function renderInline(text: string, page: PageName): string {
  return marked
    .parseInline(text, { async: false })
    .replace(CODE, (code) => `<a href="${linkFrom(page, `errors#${code}`)}"><code>${code}</code></a>`);
}

const CODE = new RegExp(`\\b(${ERROR_CODES.join('|')})\\b`, 'g');

/** What a block of code shows; it can be scrolled by keys too, where it is wider than the page. */
export function codeBlock(text: string, label = 'Code'): string {
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

/** Codes stay as they are, and other headings get anchors as forges make them. */
function anchorOf(heading: string): string {
  return /^[A-Z_]+$/.test(heading) ? heading : heading.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
}
