import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { counted } from '../common/counted.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { hasSampleClients } from '../config/settings/auth.js';
import { mayUseEmbedded } from '../config/settings/service.js';
import { Database, VisibleReader } from '../database/database.js';
import { statement } from '../database/statements/statement.js';
import { OUTSIDER } from '../database/visibility/viewer.js';
import { describeTrouble, MirrorState, type MirrorStatus } from '../mirror/status/mirror-state.js';
import { escapeHtml, renderDocument } from '../pages/html.js';
import { hashSource, pageHeaders } from '../pages/policy.js';
import { MARK, PALETTE } from '../pages/style.js';

const STYLE = `${PALETTE}
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; }
main { margin: 0 auto; padding: 3rem 1.25rem; max-width: 56rem; overflow-wrap: anywhere; }
header, nav { display: flex; align-items: center; gap: 1.25rem; margin: 0 0 1.5rem; }
svg { flex: none; width: 4.5rem; }
header p { margin: 0.25rem 0 0; color: var(--quiet); }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 0.75rem; font-size: 1.375rem; }
a { color: var(--accent); }
.first, button {
  padding: 0.5rem 1rem; border: 0; border-radius: 0.5rem; background: var(--accent); color: var(--on-accent);
  font: inherit; font-weight: 600; text-decoration: none; cursor: pointer;
}
code, pre { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 0.875em; }
pre {
  padding: 0.875rem 1rem; border-radius: 0.5rem; background: var(--card); line-height: 1.5;
  white-space: pre-wrap; overflow: auto; overflow-wrap: normal; user-select: all;
}
`;
/** Only in a secure context there is a clipboard. */
const SCRIPT = `
const copy = document.querySelector('button');
copy.hidden = navigator.clipboard === undefined;
copy.onclick = () => navigator.clipboard.writeText(document.querySelector('pre').textContent)
  .then(() => { copy.textContent = 'Copied'; });
`;
const HEADERS = pageHeaders({ 'style-src': [hashSource(STYLE)], 'script-src': [hashSource(SCRIPT)] });

const QUERY = '{ groups(first: 3) { totalCount nodes { name } } }';

/** Milliseconds for which a state is reused: anyone can ask. */
const REUSED_MS = 200;

type Found = [id: string, users: number, groups: number];
const FIND_USERS = statement(
  `select u.id, (select count(*)::integer from users), (select count(*)::integer from groups)
   from users u order by u.sort_name, u.key limit 5`,
);

@Public()
@Controller()
export class StartPageController {
  private status: Promise<MirrorStatus> | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly mirror: MirrorState,
  ) {}

  @Get('/')
  async page(@Req() { raw }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const forget = () => void setTimeout(() => (this.status = null), REUSED_MS).unref();
    this.status ??= this.mirror.get().finally(forget);
    const status = await this.status.catch(orNull);
    const reader = new VisibleReader(this.database, OUTSIDER);
    const found = isTrialFor(this.config, raw.headers.host)
      ? await reader.read<Found>(FIND_USERS).catch(orNull)
      : null;
    void reply.headers(HEADERS).send(renderStartPage(this.config, status, found ?? []));
  }
}

/** Whether a client of this host may choose the user who signs in, to try the service. */
export function isTrialFor(config: Config, host: string | undefined): boolean {
  return !config.production && config.auth.issuer === null && mayUseEmbedded(config, host);
}

/** For a page, which is useful without the database, too. */
function orNull(error: unknown): null {
  if (error instanceof ServiceError) return null;
  throw error;
}

/**
 * Renders the description of the service and the first query, as they apply to the configuration.
 * @param found the first users, if the client may choose the user who signs in
 */
function renderStartPage(config: Config, status: MirrorStatus | null, found: readonly Found[]): string {
  const [basePath, baseUrl] = [escapeHtml(config.basePath), escapeHtml(config.baseUrl)];
  const ids = found.map(([id]) => `<code>${escapeHtml(id)}</code>`).join(', ');
  return renderDocument(
    'Directory Service',
    `<style>${STYLE}</style>`,
    `<main>
<header>${MARK}<div><h1>Directory Service</h1><p>${describeState(status, found[0])}</p></div></header>
<p>A GraphQL API in front of a directory: users, groups, roles in groups that contain groups, and signed URLs of
photos. Clients ask with a token, and never see the directory itself.</p>
${ids === '' ? '' : `<p>Here, every user can sign in with any password, such as ${ids}.</p>`}
<nav>
${config.explorer === null ? '' : `<a class="first" href="${basePath}/explorer">Open the explorer</a>`}
${config.disclosure.introspection ? `<a href="${basePath}/graphql/v1/schema.graphql">Schema</a>` : ''}
</nav>
${
  config.trustedDocuments === null
    ? renderFirstQuery(config)
    : '<p>This service executes only the documents that its operators have approved.</p>'
}
<h2>For programs</h2>
<p>GraphQL: <code>${baseUrl}/graphql/v1</code></p>
<p>Changes as events: <code>${baseUrl}/changes/v1</code></p>
</main>`,
  );
}

function describeState(status: MirrorStatus | null, found: Found | undefined): string {
  if (status === null) return 'The database is unavailable';
  const { asOf, now } = status;
  const trouble = describeTrouble(status);
  if (trouble !== null || asOf === null) return trouble ?? 'The directory has not been read yet';
  const what = found ? `${counted(found[1], 'user')} in ${counted(found[2], 'group')}` : 'The directory';
  return `${what}, read ${Math.max(0, Math.round((now.getTime() - asOf.getTime()) / 1000))} s ago`;
}

function renderFirstQuery(config: Config): string {
  const [text, command] = exampleOf(config);
  return `<h2>The first query</h2>
<p id="first-query">${text}:</p>
<pre tabindex="0" role="region" aria-labelledby="first-query">${escapeHtml(command)}</pre>
<button hidden>Copy</button>
<script>${SCRIPT}</script>`;
}

/** A text as HTML, and a command. The secrets of the sample are public. */
function exampleOf({ baseUrl, auth, production }: Config): [string, string] {
  const query = (token: string, scheme: 'Basic' | 'Bearer') =>
    `TOKEN=${token}\n${firstQuery(baseUrl, scheme)}`;
  if (auth.issuer !== null) {
    const audience = `for the audience <code>${escapeHtml(auth.audiences[0])}</code>`;
    return [`With a token of <code>${escapeHtml(auth.issuer)}</code> ${audience}`, query('…', 'Bearer')];
  }
  if (production || !hasSampleClients(auth))
    return ['With the token of a service account, which an operator makes', query('…', 'Basic')];
  const token = `$(curl -s ${baseUrl}/oauth2/token -u demo-basic:demo-basic-secret \\
  -d grant_type=client_credentials -d scope=read | sed -E 's/.*"access_token":"([^"]*).*/\\1/')`;
  return ['With the id and the secret of an application', query(token, 'Bearer')];
}

/** A command that sends the first query with a token. */
export function firstQuery(baseUrl: string, scheme: 'Basic' | 'Bearer', token = '$TOKEN'): string {
  return `curl -s ${baseUrl}/graphql/v1 \\
  -H "Authorization: ${scheme} ${token}" -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ query: QUERY })}'`;
}
