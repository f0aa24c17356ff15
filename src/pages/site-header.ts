import { escapeHtml } from './html.js';

/** The settings on which the header depends, a part of `Config`. */
interface SiteSettings {
  readonly basePath: string;
  /** Null: the explorer is not served. */
  readonly explorer: object | null;
  /** Without introspection, the reference has the page of errors alone. */
  readonly disclosure: { readonly introspection: boolean };
}

type PageName = 'Start' | 'Explorer' | 'Reference' | 'Errors';

function linksOf({ explorer, disclosure }: SiteSettings): [path: string, name: PageName][] {
  return [
    ['/', 'Start'],
    ...(explorer === null ? [] : ([['/explorer', 'Explorer']] as [string, PageName][])),
    disclosure.introspection ? ['/reference', 'Reference'] : ['/reference/errors', 'Errors'],
  ];
}

/**
 * The header of the pages of the service, with the same links on each of them.
 * @param current null: a page without a link
 */
export function renderSiteHeader(settings: SiteSettings, current: PageName | null): string {
  const base = escapeHtml(settings.basePath);
  const links = linksOf(settings).map(([path, name]) => {
    const mark = name === current ? ' aria-current="page"' : '';
    return `<li><a href="${base}${path}"${mark}>${name}</a></li>`;
  });
  return `<header class="site">
<a class="brand" href="${base}/">Directory Service</a>
<nav aria-label="Site"><ul>${links.join('')}</ul></nav>
</header>`;
}

/** In the written pages of the reference, instead of the header, which depends on the settings. */
export const SITE_HEADER_PLACE = '<!-- header of the site -->';

export const SITE_HEADER_STYLE = `
.site {
  display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1rem; padding: 0.5rem 1.25rem;
  background: var(--card); border-bottom: 1px solid var(--edge); font: 1rem/1.5 system-ui, sans-serif;
}
.site .brand { padding: 0.25rem 0; color: var(--text); font-weight: 700; text-decoration: none; white-space: nowrap; }
.site ul { display: flex; flex-wrap: wrap; gap: 0.25rem; margin: 0; padding: 0; list-style: none; }
.site li a { display: block; padding: 0.25rem 0.625rem; border-radius: 0.5rem; color: var(--accent); text-decoration: none; }
.site li a:hover { text-decoration: underline; }
.site li a[aria-current] { background: var(--accent); color: var(--on-accent); }
`;
