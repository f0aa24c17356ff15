/** The colours of all pages, for light and dark. They read at the contrast that WCAG 2.2 asks for (1.4.3, 1.4.11). */
export const PALETTE = `
:root {
  color-scheme: light dark;
  --page: #eef1f5; --card: #fff; --text: #1b2430; --quiet: #55606e; --line: #76818f; --edge: #d4dae2;
  --accent: #1d5bb8; --on-accent: #fff; --alert: #b3261e; --notice: #fff4d6; --notice-text: #573f00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10151c; --card: #1a212b; --text: #e7ecf2; --quiet: #a7b2bf; --line: #738092; --edge: #323c4a;
    --accent: #8ab8ff; --on-accent: #0b1b33; --alert: #ffb4ab; --notice: #33290c; --notice-text: #f6dd9a;
  }
}
* { box-sizing: border-box; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

/** Headings and text of the start page and of rejections. */
export const TEXT_STYLE = `
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; }
main { margin: 0 auto; padding: 2.5rem 1.25rem 3rem; max-width: 62rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 1rem; font-size: 1.375rem; }
p { margin: 0 0 0.75rem; }
main > p { max-width: 40rem; }
a { color: var(--accent); }
.quiet { color: var(--quiet); font-size: 0.875rem; }
`;

/** A person in a tree: the mark of the service, as a picture that needs no request. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d5bb8"/>' +
    '<g fill="none" stroke="#fff" stroke-width="2"><path d="M16 12v5M9 21v-4h14v4"/><circle cx="16" cy="8.5" r="3.5"/>' +
    '<circle cx="9" cy="24" r="3"/><circle cx="23" cy="24" r="3"/></g></svg>',
)}`;
