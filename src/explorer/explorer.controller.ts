import { Controller, Get, Inject, Res, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { pageHeaders, type Directives } from '../pages/policy.js';
import { BUILT_IN_FIELDS } from '../config/model/built-in-fields.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import type { Field, FieldDefinition } from '../common/field.js';
import { dataBlock, escapeHtml, renderDocument } from '../pages/html.js';
import { renderSiteHeader, SITE_HEADER_STYLE } from '../pages/site-header.js';
import { PALETTE } from '../pages/style.js';
import { type PageSettings, ROOT_ELEMENT, SETTINGS_ELEMENT } from './page-settings.js';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fastifyStatic } from '@fastify/static';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { z } from 'zod';

/** Outside of the build directory of the server, which its build empties. */
const BUILT = new URL('../../web/explorer/dist/', import.meta.url);

/** The used part of the manifest that Vite writes for its entry point. */
const Manifest = z.object({
  'source/main.tsx': z.object({ file: z.string(), css: z.array(z.string()).default([]) }),
});

/** Script and style sheets of the page, as paths below `/explorer/`. */
interface ExplorerEntryPoint {
  readonly script: string;
  readonly styles: readonly string[];
}

/** Serves the output of `npm run compile` for web/explorer. */
@Injectable()
export class ExplorerAssets implements OnModuleInit {
  private readonly logger = new Logger(ExplorerAssets.name);
  /** Null: the explorer was not built. */
  readonly entry = readEntry();

  constructor(private readonly host: HttpAdapterHost) {}

  async onModuleInit(): Promise<void> {
    // The command line loads the modules too, but has no HTTP server.
    const adapter = this.host.httpAdapter as FastifyAdapter | null;
    if (!(adapter instanceof FastifyAdapter)) return;
    if (this.entry === null) {
      this.logger.warn('The explorer has not been built: npm run compile does');
      return;
    }
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
}

function readEntry(): ExplorerEntryPoint | null {
  let text: string;
  try {
    text = readFileSync(new URL('manifest.json', BUILT), 'utf8');
  } catch {
    return null;
  }
  const { file, css } = Manifest.parse(JSON.parse(text))['source/main.tsx'];
  return { script: file, styles: css };
}

@Public()
@Controller()
export class ExplorerController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly assets: ExplorerAssets,
  ) {}

  /** Serves the page, also for redirects from the identity provider: the page reads its own address. */
  @Get(['explorer', 'explorer/callback'])
  page(@Res() reply: FastifyReply): void {
    void reply
      .headers(pageHeaders(explorerDirectives(this.config)))
      .send(renderExplorer(this.config, this.assets.entry));
  }
}

/** @param entry null: the explorer has not been built */
export function renderExplorer(config: Config, entry: ExplorerEntryPoint | null): string {
  const root = `${config.basePath}/explorer/`;
  const link = (path: string) => escapeHtml(`${root}${path}`);
  const styles = entry?.styles.map((path) => `<link rel="stylesheet" href="${link(path)}">`) ?? [];
  const script = entry === null ? [] : [`<script type="module" src="${link(entry.script)}"></script>`];
  const message =
    entry === null
      ? 'The explorer has not been built: <code>npm run compile</code> does.'
      : 'The explorer is loading. It needs JavaScript.';
  return renderDocument({
    title: 'Explorer · Directory Service',
    head: [
      `<style>${PALETTE}${SITE_HEADER_STYLE}</style>`,
      ...styles,
      dataBlock(SETTINGS_ELEMENT, pageSettings(config)),
      ...script,
    ].join('\n'),
    body: `${renderSiteHeader(config, 'Explorer')}
<div id="${ROOT_ELEMENT}"><main><p>${message}</p></main></div>`,
  });
}

/** The page may connect to the service, and to the issuer for tokens. The editor positions lines with inline styles. */
export function explorerDirectives({ auth, baseUrl }: Config): Directives {
  const { origin } = new URL(baseUrl);
  return {
    'script-src': [`'self'`],
    'worker-src': [`'self'`],
    'style-src': [`'self'`, `'unsafe-inline'`],
    'font-src': [`'self'`, 'data:'],
    'img-src': [`'self'`, 'data:', origin],
    'connect-src': [`'self'`, ...(auth.issuer === null ? [origin] : [new URL(auth.issuer).origin])],
  };
}

function pageSettings(config: Config): PageSettings {
  const { auth, baseUrl, basePath, disclosure, directory, explorer, scopes } = config;
  return {
    endpoint: `${basePath}/graphql/v1`,
    page: `${basePath}/explorer`,
    baseUrl,
    introspection: disclosure.introspection,
    scopes,
    // Names of fields are part of the schema.
    customFields: disclosure.introspection ? customFieldsOf(directory.mapping) : [],
    isSample: isSampleDirectory(directory),
    signIn:
      explorer?.clientId === undefined || explorer.clientId === null
        ? null
        : {
            issuer: auth.issuer ?? baseUrl,
            clientId: explorer.clientId,
            redirectUri: explorer.redirectUri,
            // Only the embedded provider is known to accept this parameter without an ID token.
            signedOutUri: auth.issuer === null ? explorer.redirectUri : null,
            audience: auth.issuer === null ? null : auth.audiences[0],
          },
  };
}

function customFieldsOf({ users, groups }: Config['directory']['mapping']): string[] {
  const own = [
    ...customFieldsIn('User', users.fields, BUILT_IN_FIELDS.users),
    ...customFieldsIn('Group', groups.fields, BUILT_IN_FIELDS.groups),
  ];
  return own.flatMap(({ type, name, reference }) => [
    `${type}.${name}`,
    ...(typeof reference?.reverse === 'string'
      ? [`${reference.to === 'user' ? 'User' : 'Group'}.${reference.reverse}`]
      : []),
  ]);
}

function customFieldsIn(
  type: 'User' | 'Group',
  fields: readonly Field[],
  builtIn: readonly FieldDefinition[],
) {
  const isBuiltIn = (name: string) => builtIn.some((field) => field.name === name);
  return fields
    .filter(({ name }) => !isBuiltIn(name))
    .map(({ name, reference }) => ({ type, name, reference }));
}
