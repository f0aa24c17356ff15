import { escapeHtml, renderDocument } from '../../src/pages/html.js';
import { SITE_HEADER_PLACE } from '../../src/pages/site-header.js';
import { breakable } from './markdown.js';
import { linkFrom, type PageName } from './links.js';
import type { SearchEntry } from './search-entries.js';

/** A page of the reference. */
export interface ReferencePage {
  readonly name: PageName;
  readonly title: string;
  /** HTML below the heading. */
  readonly body: string;
  /** Anchors of the sections of the page. */
  readonly contents: readonly string[];
  /** Search entries of the page. */
  readonly entries: readonly SearchEntry[];
}

const NAVIGATION: readonly [PageName, string][] = [
  ['queries', 'Queries'],
  ['mutations', 'Mutations'],
  ['objects', 'Objects'],
  ['inputs', 'Inputs'],
  ['values', 'Values'],
  ['errors', 'Errors'],
];

/** Properties of the site around a page. */
export interface ReferenceSite {
  /** Directory of style sheet and scripts, below `/reference/`. */
  readonly assets: string;
  /** Whether the pages about the schema are served. Otherwise the page stands alone. */
  readonly isWhole: boolean;
}

/** Renders a whole page with its navigation. */
export function renderReferencePage(page: ReferencePage, { assets, isWhole }: ReferenceSite): string {
  const asset = (file: string) => linkFrom(page.name, `${assets}/${file}`);
  const scripts = isWhole
    ? ['page.mjs', 'search.mjs'].map((file) => `\n<script type="module" src="${asset(file)}"></script>`)
    : [];
  return renderDocument({
    title: `${page.title} · Directory Service`,
    head: `<link rel="stylesheet" href="${asset('style.css')}">${scripts.join('')}`,
    body: `<a class="skip" href="#content">Skip to the content</a>
${SITE_HEADER_PLACE}
${isWhole ? `<div class="bar">\n${navigation(page)}${SEARCH}</div>\n` : ''}<div class="page">
${contents(page)}<main id="content" tabindex="-1">
<h1>${escapeHtml(page.title)}</h1>
${page.body}</main>
</div>`,
  });
}

/**
 * The search form, which its script makes visible. Its ids are not valid GraphQL names, because these are the
 * anchors of a page.
 */
const SEARCH = `<form id="search-form" role="search" hidden>
<label for="search-field">Search</label>
<input id="search-field" type="search" autocomplete="off" spellcheck="false" aria-controls="search-results" aria-describedby="search-count">
<p id="search-count" role="status"></p>
<ol id="search-results"></ol>
</form>
`;

function navigation(page: ReferencePage): string {
  const items: [href: string, label: string, name: PageName | null][] = [
    [page.name === '' ? 'reference' : '../reference', 'Overview', ''],
    ...NAVIGATION.map(([name, label]): [string, string, PageName] => [
      linkFrom(page.name, name),
      label,
      name,
    ]),
    [`${page.name === '' ? '' : '../'}graphql/v1/schema.graphql`, 'SDL', null],
  ];
  const list = items.map(([href, label, name]) => {
    const current = name === page.name ? ' aria-current="page"' : '';
    return `<li><a href="${href}"${current}>${label}</a></li>`;
  });
  return `<nav aria-label="Reference"><ul>${list.join('')}</ul></nav>\n`;
}

function contents({ contents: names }: ReferencePage): string {
  if (names.length === 0) return '';
  const list = names.map((name) => `<li><a href="#${name}">${breakable(name)}</a></li>`);
  return `<nav class="contents" aria-label="On this page">
<p>On this page</p>
<ul>${list.join('')}</ul>
</nav>
`;
}
