import type { Config } from '../config/config.js';
import { dataBlock, escapeHtml, renderDocument } from '../pages/html.js';
import type { Directives } from '../pages/policy.js';
import { PALETTE } from '../pages/style.js';
import type { ExplorerEntryPoint } from './explorer-assets.js';
import { type PageSettings, ROOT_ELEMENT, SETTINGS_ELEMENT } from './page-settings.js';

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
      `<style>${PALETTE}</style>`,
      ...styles,
      dataBlock(SETTINGS_ELEMENT, pageSettings(config)),
      ...script,
    ].join('\n'),
    body: `<div id="${ROOT_ELEMENT}"><main><p>${message}</p></main></div>`,
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

function pageSettings({ auth, baseUrl, basePath, disclosure, explorer, scopes }: Config): PageSettings {
  return {
    endpoint: `${basePath}/graphql/v1`,
    baseUrl,
    startPage: `${basePath}/`,
    reference: disclosure.introspection ? `${basePath}/reference` : null,
    introspection: disclosure.introspection,
    scopes: scopes.map(({ name }) => name),
    signIn:
      explorer?.clientId === undefined || explorer.clientId === null
        ? null
        : {
            issuer: auth.issuer ?? baseUrl,
            clientId: explorer.clientId,
            redirectUri: explorer.redirectUri,
            // Only the embedded provider is known to accept this parameter without an ID token.
            signedOutUri: auth.issuer === null ? explorer.redirectUri : null,
            audience: auth.issuer === null ? null : auth.audience,
          },
  };
}
