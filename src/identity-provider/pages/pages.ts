import type { Context } from 'koa';
import { escapeHtml, renderDocument } from '../../pages/html.js';
import { contentSecurityPolicy, hashSource } from '../../pages/policy.js';
import { PALETTE } from '../../pages/style.js';

/** The style sheet of the provider's pages. The content security policy allows it by its hash. */
const PROVIDER_PAGE_STYLE = `${PALETTE}body {
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
a { color: var(--accent); }
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
.people { margin: 0; padding: 0; display: grid; gap: 0.5rem; list-style: none; }
.people button { width: 100%; padding: 0.5rem 0.75rem; text-align: left; }
.people strong { margin-right: 0.375rem; }
.code { font: 600 2rem/1.25 ui-monospace, monospace; letter-spacing: 0.1em; text-align: center; }
`;

/** The content of a page of the provider. */
interface ProviderPage {
  readonly title: string;
  /** HTML. All external text in it is already escaped. */
  readonly body: string;
}

const SCOPE_WORDS: Readonly<Record<string, string>> = {
  openid: 'read your identity',
  email: 'see your e-mail address',
  offline_access: 'do so while you are not signed in',
  profile: 'see your own profile',
  read: 'look up and search people and groups',
  directory: 'list all people, follow changes, and preview any change',
  write: 'preview changes',
};

/**
 * The page loads nothing and runs no script. There is no `form-action`, because browsers apply it to every redirect
 * after the post, and the last redirect leads to the application.
 */
const CONTENT_SECURITY_POLICY = contentSecurityPolicy({ 'style-src': [hashSource(PROVIDER_PAGE_STYLE)] });

/** Policy of redirects, JSON, and the form of oidc-provider that submits itself, to which it adds the hash of its script. */
const OTHER_POLICY = contentSecurityPolicy({ 'script-src': [] });

/** Sets the policy of every response of the provider. A page of the service has its own policy instead. */
export function setPolicy(context: Context): void {
  context.set('Content-Security-Policy', OTHER_POLICY);
  context.set('X-Content-Type-Options', 'nosniff');
  context.set('Referrer-Policy', 'no-referrer');
}

export function sendPage(context: Context, status: number, page: ProviderPage): void {
  context.status = status;
  context.type = 'html';
  context.set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
  context.set('Cache-Control', 'no-store');
  context.set('Referrer-Policy', 'no-referrer');
  context.set('X-Content-Type-Options', 'nosniff');
  context.body = renderPage(page);
}

interface SignInQuestion {
  readonly application: string;
  readonly scopes: readonly string[];
  /** Initial value of the field: the previous input, or the id of the signed-in user. */
  readonly id: string;
  /** Why the page asks again. */
  readonly problem?: string;
  /** People whose id need not be typed. */
  readonly people: readonly OfferedPerson[];
}

export interface OfferedPerson {
  readonly id: string;
  readonly name: string;
  /** What is special about the person. */
  readonly about: string;
}

/** The form asks for the id and for consent, and posts to its own address. */
export function signInPage({ application, scopes, id, problem, people }: SignInQuestion): ProviderPage {
  const wishes = scopes.map((scope) => `<li>${escapeHtml(SCOPE_WORDS[scope] ?? scope)}</li>`).join('');
  const asks = wishes === '' ? 'wants you to sign in.</p>' : `asks to</p>\n<ul>${wishes}</ul>`;
  return {
    title: 'Sign in',
    body: `<p><strong>${escapeHtml(application)}</strong> ${asks}
<form method="post">
${field({ name: 'id', label: 'Your id in the directory', value: id, autocomplete: 'username', problem })}
<div class="buttons">
<button name="answer" value="continue">Continue</button>
<button name="answer" value="cancel" class="quiet" formnovalidate>Cancel</button>
</div>
</form>${people.length === 0 ? '' : offerPeople(people)}`,
  };
}

/** A form of its own: it must not post the text field too. */
function offerPeople(people: readonly OfferedPerson[]): string {
  const buttons = people.map(
    ({ id, name, about }) =>
      `<li><button name="id" value="${escapeHtml(id)}" class="quiet"><strong>${escapeHtml(name)}</strong> ${escapeHtml(about)}</button></li>`,
  );
  return `
<form method="post" aria-labelledby="people">
<p id="people">Or continue as a person of the sample directory:</p>
<ul class="people">${buttons.join('')}</ul>
</form>`;
}

interface DeviceForm {
  readonly action: string;
  /** Ties the form to the session, which prevents forms of other sites (CSRF). */
  readonly secret: string;
  readonly userCode: string;
}

/** Renders the page that asks for the code that a device shows (RFC 8628 §3.3). */
export function deviceCodePage({ action, secret, userCode }: DeviceForm, problem?: string): ProviderPage {
  return {
    title: 'Connect a device',
    body: `<p>Type the code that your device shows.</p>
<form method="post" action="${escapeHtml(action)}">
${hiddenField('xsrf', secret)}
${field({ name: 'user_code', label: 'Code', value: userCode, autocomplete: 'off', capitals: true, problem })}
<div class="buttons">
<button>Continue</button>
</div>
</form>`,
  };
}

/** Renders the page that asks whether the code matches the one on the user's device (RFC 8628 §5.4). */
export function deviceConfirmPage(
  { action, secret, userCode }: DeviceForm,
  application: string,
): ProviderPage {
  return {
    title: 'Is this your device?',
    body: `<p><strong>${escapeHtml(application)}</strong> should show this code:</p>
<p class="code">${escapeHtml(userCode)}</p>
<p>If it does not, or if you have not asked for it, cancel.</p>
<form method="post" action="${escapeHtml(action)}">
${hiddenField('xsrf', secret)}
${hiddenField('user_code', userCode)}
${hiddenField('confirm', 'yes')}
<div class="buttons">
<button>Continue</button>
<button name="abort" value="yes" class="quiet">Cancel</button>
</div>
</form>`,
  };
}

/** @param application the application that redirected the user here; null: there is none */
export function signOutPage(
  { action, secret }: Omit<DeviceForm, 'userCode'>,
  application: string | null,
): ProviderPage {
  const who =
    application === null ? '' : `<p><strong>${escapeHtml(application)}</strong> asks you to sign out.</p>\n`;
  return {
    title: 'Sign out?',
    body: `${who}<p>The next application in this browser will then ask who you are.</p>
<form method="post" action="${escapeHtml(action)}">
${hiddenField('xsrf', secret)}
<div class="buttons">
<button name="logout" value="yes">Sign out</button>
<button class="quiet">Stay signed in</button>
</div>
</form>`,
  };
}

export function messagePage(title: string, message: string): ProviderPage {
  return { title, body: `<p>${escapeHtml(message)}</p>` };
}

/** @param startPage URL of the start page of the service */
export function wrongAddressPage(reason: string, startPage: string): ProviderPage {
  return {
    title: 'There is no page at this address',
    body: `<p>It is for programs: ${escapeHtml(reason)}.</p>
<p><a href="${escapeHtml(startPage)}">Start page of the service</a></p>`,
  };
}

function renderPage({ title, body }: ProviderPage): string {
  return renderDocument({
    title: `${title} · development identity provider`,
    head: `<style>${PROVIDER_PAGE_STYLE}</style>`,
    body: `<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
<footer>
<p><strong>Development identity provider.</strong> It asks for no password: a known id is enough to sign in.</p>
</footer>`,
  });
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly autocomplete: string;
  readonly capitals?: boolean;
  readonly problem?: string | undefined;
}

function field({ name, label, value, autocomplete, capitals = false, problem }: Field): string {
  const invalid = problem === undefined ? '' : ' aria-invalid="true" aria-describedby="problem"';
  const alert = problem === undefined ? '' : `<p id="problem" role="alert">${escapeHtml(problem)}</p>\n`;
  return `<label for="${name}">${escapeHtml(label)}</label>
<input id="${name}" name="${name}" value="${escapeHtml(value)}" required autofocus maxlength="256"
 autocomplete="${autocomplete}" autocapitalize="${capitals ? 'characters' : 'none'}" spellcheck="false"${invalid}>
${alert}`;
}

function hiddenField(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}
