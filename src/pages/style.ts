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

/** A person in a tree: the mark of the service. */
export const MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#1d5bb8"/>' +
  '<g fill="none" stroke="#fff" stroke-width="2"><path d="M16 12v5M9 21v-4h14v4"/><circle cx="16" cy="8.5" r="3.5"/>' +
  '<circle cx="9" cy="24" r="3"/><circle cx="23" cy="24" r="3"/></g></svg>';

export const ICON = `data:image/svg+xml,${encodeURIComponent(MARK)}`;
