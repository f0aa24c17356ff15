import { SITE_HEADER_STYLE } from '../../src/pages/site-header.js';
import { PALETTE } from '../../src/pages/style.js';

/** The style sheet of the reference. */
export const REFERENCE_STYLE = `${PALETTE}${SITE_HEADER_STYLE}
html { scroll-padding-top: 4.5rem; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--accent); text-underline-offset: 0.15em; }
code { font: 0.925em ui-monospace, monospace; overflow-wrap: anywhere; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; padding: 0.5rem 1rem; background: var(--card); z-index: 2; }
.bar {
  position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 0.375rem 1.5rem; align-items: center;
  padding: 0.5rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--edge);
}
.bar nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem; margin: 0; padding: 0; list-style: none; }
.bar nav a { display: block; padding: 0.25rem 0.5rem; border-radius: 0.5rem; text-decoration: none; white-space: nowrap; }
.bar nav a:hover { text-decoration: underline; }
.bar nav a[aria-current] { background: var(--accent); color: var(--on-accent); }
#search-form { position: relative; flex: 1 1 14rem; display: flex; align-items: center; gap: 0.5rem; }
#search-form[hidden] { display: none; }
#search-field {
  flex: 1; min-width: 0; padding: 0.375rem 0.75rem; border: 1px solid var(--line); border-radius: 0.5rem;
  background: var(--page); color: inherit; font: inherit;
}
#search-count { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
#search-results {
  position: absolute; z-index: 1; top: 100%; right: 0; width: max(100%, min(32rem, 100vw - 2rem)); max-height: 70vh; margin: 0.25rem 0 0;
  padding: 0.25rem; overflow-y: auto; list-style: none; background: var(--card); border: 1px solid var(--line);
  border-radius: 0.5rem; box-shadow: 0 0.5rem 1.5rem #0004;
}
#search-results .nothing { padding: 0.375rem 0.5rem; color: var(--quiet); }
#search-results:empty { display: none; }
#search-results a { display: block; padding: 0.375rem 0.5rem; border-radius: 0.375rem; color: inherit; text-decoration: none; }
#search-results a:hover, #search-results a:focus { background: var(--page); }
#search-results strong { font: 600 0.925rem ui-monospace, monospace; color: var(--accent); }
#search-results small { display: block; color: var(--quiet); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.page { display: grid; gap: 1.5rem; max-width: 78rem; margin: 0 auto; padding: 1.5rem; }
.page > * { min-width: 0; }
main { max-width: 52rem; }
main:focus { outline: none; }
.contents { font-size: 0.9375rem; }
.contents p { margin: 0; font-weight: 600; }
.contents ul { margin: 0.25rem 0 0; padding: 0; list-style: none; columns: 2 10rem; column-gap: 1.5rem; }
.contents li { break-inside: avoid; }
.contents a { display: block; padding: 0.125rem 0; text-decoration: none; }
.contents a:hover { text-decoration: underline; }
.contents a[aria-current] { font-weight: 600; border-left: 3px solid var(--accent); padding-left: 0.5rem; }
@media (min-width: 64rem) {
  .page { grid-template-columns: 17rem minmax(0, 1fr); }
  .page > main:only-child { grid-column: 1 / -1; max-width: none; }
  .contents { position: sticky; top: 4.5rem; align-self: start; max-height: calc(100vh - 6rem); overflow-y: auto; }
  .contents ul { columns: 1; }
}
h1 { margin: 0 0 1rem; font-size: 1.75rem; line-height: 1.25; }
h2 { margin: 0 0 0.5rem; font-size: 1.25rem; line-height: 1.35; }
h3 { margin: 1.25rem 0 0.25rem; font-size: 1rem; line-height: 1.5; }
h2 code, h4 > a > code, h5 > a > code { font-weight: 600; }
h2 a, h4 a, h5 a { color: inherit; text-decoration: none; }
h2 a:hover, h4 a:hover, h5 a:hover { text-decoration: underline; }
h4 small, h5 small { font-size: 0.875rem; font-weight: 400; color: var(--quiet); }
h4 small a, h5 small a, h4 > a:not([href^='#']) { color: var(--accent); }
p { margin: 0 0 0.625rem; }
section, .card { margin: 0 0 1.5rem; padding: 1.25rem 1.5rem; background: var(--card); border-radius: 0.75rem; box-shadow: 0 1px 3px #0003; }
section > :last-child, .card > :last-child { margin-bottom: 0; }
section h3 { margin-top: 1.5rem; padding-top: 0.75rem; border-top: 1px solid var(--edge); }
h4 { margin: 1rem 0 0.25rem; font-size: 1rem; line-height: 1.5; }
h5 { margin: 0.5rem 0 0.125rem; font-size: 0.9375rem; line-height: 1.5; }
h5, h5 + p { padding-left: 0.875rem; border-left: 2px solid var(--edge); }
h5 + p { margin-top: -0.125rem; font-size: 0.9375rem; }
:target { outline: 2px solid var(--accent); outline-offset: 4px; border-radius: 0.5rem; }
em { font-size: 0.9375rem; font-style: normal; color: var(--quiet); }
em code { padding: 0.0625rem 0.375rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--text); }
blockquote { margin: 0 0 0.625rem; padding: 0.5rem 0.75rem; background: var(--notice); color: var(--notice-text); border-radius: 0.5rem; }
blockquote p { margin: 0; }
pre {
  margin: 0 0 0.75rem; padding: 0.75rem 1rem; overflow-x: auto; background: var(--page); border: 1px solid var(--edge);
  border-radius: 0.5rem; font-size: 0.875rem; line-height: 1.45; overflow-wrap: normal;
}
.code-buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; justify-content: flex-end; margin-bottom: 0.25rem; font-size: 0.875rem; }
.code-buttons > * {
  padding: 0.125rem 0.625rem; border: 1px solid var(--line); border-radius: 0.375rem; background: var(--card);
  color: inherit; font: inherit; text-decoration: none; cursor: pointer;
}
.hljs-keyword, .hljs-literal, .hljs-built_in { color: var(--code-keyword); }
.hljs-string { color: var(--code-string); }
.hljs-number, .hljs-symbol, .hljs-variable { color: var(--code-value); }
.hljs-attr, .hljs-title { color: var(--accent); }
.hljs-comment { color: var(--quiet); }
table { margin: 0 0 0.75rem; border-collapse: collapse; font-size: 0.9375rem; }
td code { overflow-wrap: normal; }
th, td { padding: 0.375rem 0.75rem 0.375rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--edge); }
.list { margin: 0; padding: 0; list-style: none; }
.list li { padding: 0.25rem 0; }
figure { margin: 0; }
.picture { overflow-x: auto; }
.picture svg { display: block; width: auto; min-width: 44rem; max-width: 100%; height: auto; }
.picture text { fill: var(--text); font: 10px system-ui, sans-serif; }
.picture .node text { font-size: 12px; }
.picture .node path { fill: var(--page); stroke: var(--accent); }
.picture .edge path { fill: none; stroke: var(--line); }
.picture .edge polygon, .picture .edge polyline { fill: var(--line); stroke: var(--line); }
.picture .edge text { fill: var(--quiet); }
figcaption { margin-top: 0.75rem; font-size: 0.9375rem; color: var(--quiet); }
@media (max-width: 64rem) {
  html { scroll-padding-top: 7rem; }
}
@media (max-width: 40rem) {
  html { scroll-padding-top: 9.5rem; }
  .bar { padding: 0.5rem 1rem; }
  .page { padding: 1rem; }
  section, .card { padding: 1rem; }
  /* The line around it, and half of a name at its lower edge, say that there is more. */
  .contents ul {
    max-height: 16.75rem; overflow-y: auto; columns: auto; padding: 0.25rem 0.75rem;
    border: 1px solid var(--line); border-radius: 0.5rem;
  }
}
`;
