import type { Config } from '../config/config.js';
import { escapeHtml, renderDocument } from '../pages/html.js';
import { type Directives, hashSource } from '../pages/policy.js';
import { type FirstQuery, findExamples } from './first-queries.js';
import { renderSiteHeader, SITE_HEADER_STYLE } from '../pages/site-header.js';
import { PALETTE, TEXT_STYLE } from '../pages/style.js';

const START_PAGE_STYLE = `${PALETTE}${SITE_HEADER_STYLE}${TEXT_STYLE}
code, pre { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 0.875em; }
.endpoint span { color: var(--quiet); margin-right: 0.5rem; }
.cards ul {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 0.75rem; margin: 1.5rem 0 0;
  padding: 0; list-style: none;
}
.cards a {
  display: block; height: 100%; padding: 0.875rem 1rem; border: 1px solid var(--edge); border-radius: 0.75rem;
  background: var(--card); color: inherit; text-decoration: none;
}
.cards a:hover { border-color: var(--accent); }
.cards strong { display: block; color: var(--accent); }
.cards span { color: var(--quiet); font-size: 0.875rem; }
section {
  margin-top: 1rem; padding: 1.25rem 1.25rem 0.5rem; border: 1px solid var(--edge); border-radius: 0.75rem;
  background: var(--card);
}
.code { position: relative; margin-bottom: 0.75rem; }
pre {
  margin: 0; padding: 0.875rem 5.5rem 0.875rem 1rem; border-radius: 0.5rem; background: var(--page); line-height: 1.5;
  white-space: pre-wrap; overflow: auto; overflow-wrap: normal;
}
.copy {
  position: absolute; top: 0.375rem; right: 0.375rem; padding: 0.125rem 0.625rem; border: 1px solid var(--line);
  border-radius: 0.375rem; background: var(--card); color: inherit; font: inherit; font-size: 0.8125rem;
  cursor: pointer;
}
@media (max-width: 40rem) {
  pre { padding: 2.75rem 1rem 0.875rem; }
}
`;

/** The clipboard requires a secure context (Clipboard API §9.1). Elsewhere the buttons stay hidden. */
const SCRIPT = `
if (navigator.clipboard) for (const button of document.querySelectorAll('.copy')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}
`;

export const START_PAGE_DIRECTIVES: Directives = {
  'style-src': [hashSource(START_PAGE_STYLE)],
  'script-src': [hashSource(SCRIPT)],
};

/**
 * Renders the description of the service and the first query, as they apply to the configuration.
 * @param demoToken token of the demonstration account. Null: there is none, or it must not be shown
 */
export function renderStartPage(config: Config, demoToken: string | null): string {
  const { baseUrl } = config;
  return renderDocument({
    title: 'Directory Service',
    head: `<style>${START_PAGE_STYLE}</style>`,
    body: `${renderSiteHeader(config, 'Start')}
<main>
<h1>Directory Service</h1>
<p>A GraphQL API in front of a directory: people, groups, roles in groups that contain groups, and signed URLs of
photos. Clients ask with a token, and never see the directory itself.</p>
<p class="endpoint"><span>Endpoint</span> <code>${escapeHtml(baseUrl)}/graphql/v1</code></p>
<p class="endpoint"><span>Changes as events</span> <code>${escapeHtml(baseUrl)}/changes/v1</code></p>
<nav class="cards" aria-label="Pages">
<ul>
${linksOf(config).map(renderLink).join('\n')}
</ul>
</nav>
${renderFirstQueries(config, demoToken)}
</main>
<script>${SCRIPT}</script>`,
  });
}

interface Link {
  readonly path: string;
  readonly name: string;
  readonly what: string;
}

function linksOf({ basePath, disclosure, explorer }: Config): Link[] {
  const links: Link[] = [
    ...(explorer === null ? [] : [{ path: '/explorer', name: 'Explorer', what: 'Ask in the browser' }]),
    ...(disclosure.introspection
      ? [
          { path: '/reference', name: 'Reference', what: 'Every type and field, with examples' },
          { path: '/graphql/v1/schema.graphql', name: 'Schema', what: 'The same, for tools' },
        ]
      : [{ path: '/reference/errors', name: 'Errors', what: 'Every code, its cause and its cure' }]),
  ];
  return links.map(({ path, ...link }) => ({ ...link, path: `${basePath}${path}` }));
}

function renderFirstQueries(config: Config, demoToken: string | null): string {
  return config.trustedDocuments?.isEnforced === true
    ? '<p>This service executes only the documents that its operators have approved.</p>'
    : `<h2>The first query</h2>
${findExamples(config, demoToken).map(renderExample).join('\n')}`;
}

function renderLink({ path, name, what }: Link): string {
  return `<li><a href="${escapeHtml(path)}"><strong>${name}</strong> <span>${what}</span></a></li>`;
}

function renderExample({ id, title, steps }: FirstQuery): string {
  const body = steps.map(({ text, code }, index) => {
    const target = `${id}-${index + 1}`;
    return `<p>${text}</p>
${code === null ? '' : renderCode(target, code, id, `${title}: command ${index + 1}`)}`;
  });
  return `<section aria-labelledby="${id}">
<h3 id="${id}">${title}</h3>
${body.join('\n')}
</section>`;
}

/** @param heading id of the heading of the example, because all buttons have the same name */
function renderCode(id: string, code: string, heading: string, label: string): string {
  return `<div class="code">
<pre id="${id}" tabindex="0" role="region" aria-label="${label}">${escapeHtml(code)}</pre>
<button type="button" class="copy" data-copies="${id}" aria-describedby="${heading}" aria-live="polite" hidden>Copy</button>
</div>`;
}
