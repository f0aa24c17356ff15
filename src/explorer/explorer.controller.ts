import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fastifyStatic } from '@fastify/static';
import { Controller, Get, Inject, type OnModuleInit, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { dataBlock, escapeHtml, renderDocument } from '../pages/html.js';
import { pageHeaders, type Directives } from '../pages/policy.js';
import { PALETTE } from '../pages/style.js';
import { DemoServiceAccount } from '../service-accounts/demo-service-account.js';
import { type PageSettings, ROOT_ELEMENT, SETTINGS_ELEMENT } from './page-settings.js';
import { isTrialFor } from './start-page.js';

/** The output of `npm run compile` for web/explorer, outside of the build directory of the server, which its build empties. */
const BUILT = new URL('../../web/explorer/dist/', import.meta.url);

/** The used part of the manifest that Vite writes: the script and the style sheets of the page. */
interface EntryPoint {
  readonly file: string;
  readonly css?: readonly string[];
}

@Public()
@Controller()
export class ExplorerController implements OnModuleInit {
  private readonly entry = readEntry();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    private readonly demo: DemoServiceAccount,
  ) {}

  /** Serves the built files. The command line loads the modules too, but has no HTTP server. */
  async onModuleInit(): Promise<void> {
    const adapter = this.host.httpAdapter as FastifyAdapter | null;
    if (!(adapter instanceof FastifyAdapter) || this.entry === null) return;
    await adapter.getInstance().register(fastifyStatic, {
      root: fileURLToPath(new URL('assets/', BUILT)),
      prefix: '/explorer/assets/',
      // Registers each file as a route. No request causes another lookup on the disk.
      wildcard: false,
      globIgnore: ['**/*.br'],
      // The names of the files contain a hash of their contents.
      immutable: true,
      maxAge: '1y',
      index: false,
      decorateReply: false,
      preCompressed: true,
    });
  }

  /** Serves the page, also for redirects from the identity provider: the page reads its own address. */
  @Get(['explorer', 'explorer/callback'])
  page(@Req() { raw }: FastifyRequest, @Res() reply: FastifyReply): void {
    const { config, entry, demo } = this;
    if (entry === null)
      throw new ServiceError('NOT_FOUND', 'The explorer has not been built: npm run compile does it');
    const isTrial = isTrialFor(config, raw.headers.host) && isSampleDirectory(config.directory);
    void reply
      .headers(pageHeaders(explorerDirectives(config)))
      .send(renderExplorer(pageSettings(config, isTrial ? demo.token : null), entry));
  }
}

/** Null: the explorer has not been built. */
function readEntry(): EntryPoint | null {
  const manifest = new URL('manifest.json', BUILT);
  if (!existsSync(manifest)) return null;
  const entries = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, EntryPoint>;
  return entries['source/main.tsx'] ?? null;
}

function renderExplorer(settings: PageSettings, { file, css = [] }: EntryPoint): string {
  const link = (path: string) => escapeHtml(`${settings.basePath}/explorer/${path}`);
  return renderDocument(
    'Explorer · Directory Service',
    `<style>${PALETTE}</style>
${css.map((path) => `<link rel="stylesheet" href="${link(path)}">`).join('\n')}
${dataBlock(SETTINGS_ELEMENT, settings)}
<script type="module" src="${link(file)}"></script>`,
    `<div id="${ROOT_ELEMENT}"><main><p>The explorer is loading. It needs JavaScript.</p></main></div>`,
  );
}

/** The page may connect to the service, and to the issuer for tokens. The editor positions lines with inline styles. */
function explorerDirectives({ auth, baseUrl }: Config): Directives {
  return {
    'script-src': [`'self'`],
    'worker-src': [`'self'`],
    'style-src': [`'self'`, `'unsafe-inline'`],
    'font-src': [`'self'`, 'data:'],
    'img-src': [`'self'`, 'data:', new URL(baseUrl).origin],
    'connect-src': [`'self'`, new URL(auth.issuer ?? baseUrl).origin],
  };
}

function pageSettings(config: Config, demoToken: string | null): PageSettings {
  const { auth, baseUrl, basePath, disclosure, explorer, scopes } = config;
  const clientId = explorer?.clientId ?? null;
  return {
    basePath,
    baseUrl,
    introspection: disclosure.introspection,
    scopes,
    demoToken,
    signIn:
      explorer === null || clientId === null
        ? null
        : {
            issuer: auth.issuer ?? baseUrl,
            clientId,
            redirectUri: explorer.redirectUri,
            // Only the embedded provider is known to accept this parameter without an ID token.
            signedOutUri: auth.issuer === null ? explorer.redirectUri : null,
            audience: auth.issuer === null ? null : auth.audiences[0],
          },
  };
}
