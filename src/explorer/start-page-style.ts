import { PALETTE } from '../pages/style.js';

export const START_PAGE_STYLE = `${PALETTE}
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 3rem; max-width: 62rem; background: var(--page); color: var(--text);
  font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere;
}
h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 1rem; font-size: 1.375rem; }
h3 { margin: 0 0 0.5rem; font-size: 1.0625rem; }
p { margin: 0 0 0.75rem; }
header p { max-width: 40rem; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 0.875em; }
.endpoint span { color: var(--quiet); margin-right: 0.5rem; }
nav ul {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 0.75rem; margin: 1.5rem 0 0;
  padding: 0; list-style: none;
}
nav a {
  display: block; height: 100%; padding: 0.875rem 1rem; border: 1px solid var(--edge); border-radius: 0.75rem;
  background: var(--card); color: inherit; text-decoration: none;
}
nav a:hover { border-color: var(--accent); }
nav strong { display: block; color: var(--accent); }
nav span { color: var(--quiet); font-size: 0.875rem; }
section {
  margin-top: 1rem; padding: 1.25rem 1.25rem 0.5rem; border: 1px solid var(--edge); border-radius: 0.75rem;
  background: var(--card);
}
.code { position: relative; margin-bottom: 0.75rem; }
pre {
  margin: 0; padding: 0.875rem 5.5rem 0.875rem 1rem; border-radius: 0.5rem; background: var(--page); line-height: 1.5;
  white-space: pre-wrap;
}
.copy {
  position: absolute; top: 0.375rem; right: 0.375rem; padding: 0.125rem 0.625rem; border: 1px solid var(--line);
  border-radius: 0.375rem; background: var(--card); color: inherit; font: inherit; font-size: 0.8125rem;
  cursor: pointer;
}
@media (max-width: 40rem) {
  body { padding-top: 1.5rem; }
  h1 { font-size: 1.625rem; }
  pre { padding: 2.75rem 1rem 0.875rem; }
}
`;
