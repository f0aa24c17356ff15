import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { hasSampleClients } from '../config/settings/auth.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { mayUseEmbedded } from '../config/settings/service.js';
import { escapeHtml, renderDocument } from '../pages/html.js';
import { hashSource, pageHeaders } from '../pages/policy.js';
import { PALETTE, TEXT_STYLE } from '../pages/style.js';
import { DemoServiceAccount } from '../service-accounts/demo-service-account.js';

/** A click selects a whole command. */
const STYLE = `${PALETTE}${TEXT_STYLE}
code, pre { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 0.875em; }
pre {
  margin: 0 0 0.75rem; padding: 0.875rem 1rem; border-radius: 0.5rem; background: var(--card); line-height: 1.5;
  white-space: pre-wrap; overflow: auto; overflow-wrap: normal; user-select: all;
}
`;
const HEADERS = pageHeaders({ 'style-src': [hashSource(STYLE)] });

const QUERY = '{ groups(first: 3) { totalCount nodes { name } } }';

@Public()
@Controller()
export class StartPageController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly demo: DemoServiceAccount,
  ) {}

  @Get('/')
  async page(@Req() { raw }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const demoToken = await findDemoToken(this.demo, this.config, raw.headers.host);
    void reply.headers(HEADERS).send(renderStartPage(this.config, demoToken));
  }
}

/** Null: the token must not be shown, or the database is unavailable, without which a page is useful too. */
export async function findDemoToken(
  demo: DemoServiceAccount,
  config: Config,
  host: string | undefined,
): Promise<string | null> {
  const { production, directory } = config;
  if (production || !isSampleDirectory(directory) || !mayUseEmbedded(config, host)) return null;
  try {
    return await demo.find();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/**
 * Renders the description of the service and the first query, as they apply to the configuration.
 * @param demoToken token of the demonstration account. Null: there is none, or it must not be shown
 */
function renderStartPage(config: Config, demoToken: string | null): string {
  const { basePath, directory, disclosure, explorer, trustedDocuments } = config;
  const baseUrl = escapeHtml(config.baseUrl);
  const link = (path: string, text: string) => `<a href="${escapeHtml(basePath)}${path}">${text}</a>`;
  const person = isSampleDirectory(directory) ? ', for example as <code>anna.svensson</code>' : '';
  const signIn = explorer === null || explorer.clientId === null ? '' : `: sign in${person}`;
  return renderDocument({
    title: 'Directory Service',
    head: `<style>${STYLE}</style>`,
    body: `<main>
<h1>Directory Service</h1>
<p>A GraphQL API in front of a directory: people, groups, roles in groups that contain groups, and signed URLs of
photos. Clients ask with a token, and never see the directory itself.</p>
<p>Endpoint: <code>${baseUrl}/graphql/v1</code></p>
<p>Changes as events: <code>${baseUrl}/changes/v1</code></p>
${disclosure.introspection ? `<p>For tools: the ${link('/graphql/v1/schema.graphql', 'schema')} as text</p>` : ''}
${explorer === null ? '' : `<p>To ask in the browser: the ${link('/explorer', 'explorer')}${signIn}</p>`}
${
  trustedDocuments === null
    ? `<h2>The first query</h2>\n${ofServiceAccount(config, demoToken)}\n${ofApplication(config)}`
    : '<p>This service executes only the documents that its operators have approved.</p>'
}
</main>`,
  });
}

function ofServiceAccount({ baseUrl }: Config, demoToken: string | null): string {
  const owner =
    demoToken === null ? 'a service account, which an operator makes' : 'the demonstration account';
  const command = `TOKEN=${demoToken ?? '…'}\n${query(baseUrl, 'Basic')}`;
  return example('service-account', `With the token of ${owner}:`, command);
}

function ofApplication(config: Config): string {
  const { baseUrl, auth } = config;
  if (auth.issuer !== null) {
    const text = `With a token of the identity provider <code>${escapeHtml(auth.issuer)}</code>, for a person or an
application, and for the audience <code>${escapeHtml(auth.audiences[0])}</code>:`;
    return example('application', text, `TOKEN=…\n${query(baseUrl, 'Bearer')}`);
  }
  // The secrets of the sample are public.
  const isKnown = !config.production && hasSampleClients(auth);
  const command = `TOKEN=$(curl -s ${baseUrl}/oauth2/token \\
  -u ${isKnown ? 'demo-basic:demo-basic-secret' : 'CLIENT_ID:CLIENT_SECRET'} -d grant_type=client_credentials -d scope=read \\
  | sed -E 's/.*"access_token":"([^"]+)".*/\\1/')
${query(baseUrl, 'Bearer')}`;
  return example('application', 'With the id and the secret of an application:', command);
}

function example(id: string, text: string, command: string): string {
  return `<p id="${id}">${text}</p>
<pre tabindex="0" role="region" aria-labelledby="${id}">${escapeHtml(command)}</pre>`;
}

function query(baseUrl: string, scheme: 'Basic' | 'Bearer'): string {
  return `curl -s ${baseUrl}/graphql/v1 \\
  -H "Authorization: ${scheme} $TOKEN" -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ query: QUERY })}'`;
}
