import { PALETTE } from '../../pages/style.js';

/** The style sheet of the provider's pages. The content security policy allows it by its hash. */
export const PROVIDER_PAGE_STYLE = `${PALETTE}body {
  margin: 0; min-height: 100vh; padding: 1.5rem 1rem; display: flex; flex-direction: column;
  align-items: center; justify-content: center; gap: 1rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif;
}
main, footer { width: 100%; max-width: 26rem; border-radius: 0.75rem; }
main { background: var(--card); padding: 1.75rem; box-shadow: 0 1px 3px #0003; }
footer { background: var(--notice); color: var(--notice-text); padding: 0.75rem 1.75rem; font-size: 0.875rem; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 0.75rem; overflow-wrap: anywhere; }
footer p, p:last-child { margin-bottom: 0; }
ul { margin: 0 0 0.75rem; padding-left: 1.25rem; }
form { margin: 0; }
* + form { margin-top: 1.5rem; }
label { display: block; margin-bottom: 0.375rem; font-weight: 600; }
input:not([type=hidden]) {
  width: 100%; padding: 0.625rem 0.75rem; border: 1px solid var(--line); border-radius: 0.5rem;
  background: transparent; color: inherit; font: inherit;
}
input[name=user_code] { text-transform: uppercase; letter-spacing: 0.15em; }
input[aria-invalid] { border-color: var(--alert); }
#problem { margin: 0.375rem 0 0; color: var(--alert); }
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: 1.25rem; }
button {
  flex: 1 1 8rem; min-height: 2.75rem; padding: 0.5rem; border: 1px solid var(--accent);
  border-radius: 0.5rem; background: var(--accent); color: var(--on-accent); font: inherit;
  font-weight: 600; cursor: pointer;
}
button.quiet { border-color: var(--line); background: transparent; color: inherit; font-weight: 400; }
.code { font: 600 2rem/1.25 ui-monospace, monospace; letter-spacing: 0.1em; text-align: center; }
`;
