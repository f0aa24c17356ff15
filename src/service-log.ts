import { Logger } from '@nestjs/common';
import { printable } from './common/printable.js';
import { readBuild } from './config/build.js';
import type { Config } from './config/config.js';
import { describeChangedSettings } from './config/environment-file.js';
import { SAMPLE_MODEL } from './config/paths.js';
import { hasSampleClients } from './config/settings/auth.js';
import { readClients } from './identity-provider/clients.js';
import { NestLog } from './monitoring/log.js';

const logger = new Logger('Service');

/** Logs which build begins with which settings: the first lines of every log. */
export function beginLog(config: Config): void {
  Logger.overrideLogger(NestLog.of(config));
  const { version, commit } = readBuild();
  const settings = describeChangedSettings().map(({ name, value }) => `  ${name}=${printable(value)}`);
  const count =
    settings.length === 0 ? 'all settings have their defaults' : 'settings other than the defaults:';
  const build = `Version ${version}, commit ${commit ?? 'unknown'}, Node.js ${process.versions.node}`;
  logger.log([`${build}; ${count}`, ...settings].join('\n'));
}

/** Logs that the shutdown begins, and, when the process ends without a fault, that it is complete. */
export function logShutdown(signal: string): void {
  logger.log(`The shutdown begins: ${signal}`);
  // Before the listener of the log, which writes what is buffered.
  process.prependOnceListener('exit', (code) => {
    if (code === 0) logger.log('The shutdown is complete');
  });
}

const GROUP_QUERY =
  '{ group(group: {id: "chess-club"}) { name members(first: 3) { totalCount nodes { user { name } role { value } } } } }';
const MODEL_QUERY =
  '{ user(user: {id: "tomas.dvorak"}) { name jobTitle phone manager { name } reports(first: 3) { totalCount nodes { name } } } }';

/** @param isShown whether the token may be printed: logs of programs are kept, and read by others */
export function describeStart(config: Config, demoToken: string | null, isShown = true): string {
  const { baseUrl, auth, database, directory, explorer } = config;
  const lines = [
    `Ready at ${baseUrl}`,
    `  GraphQL    ${baseUrl}/graphql/v1`,
    `  Changes    ${baseUrl}/changes/v1`,
    ...(explorer === null ? [] : [`  Explorer   ${baseUrl}/explorer`]),
    `  Health     ${baseUrl}/_health  ${baseUrl}/_readiness`,
    `  Directory  ${directory.source.kind === 'file' ? directory.source.file : directory.source.url}`,
    `  Database   ${database.embedded === null ? 'PostgreSQL' : `PostgreSQL in ${database.embedded}`}`,
    `  Tokens of  ${auth.issuer ?? `${baseUrl} (embedded, for development only: ${baseUrl}/oauth2/token)`}`,
  ];
  if (auth.issuer === null) {
    const isSample = hasSampleClients(auth);
    const clients = readClients(auth.embeddedClients, config.scopes).map(
      ({ client_id: id, client_secret: secret }) => {
        if (secret === undefined) return `${id} (public)`;
        return isSample ? `${id} / ${secret}` : id;
      },
    );
    lines.push(`  Clients    ${clients.join(', ')}`);
  }
  if (auth.issuer === null) lines.push(...describeAccounts(config, demoToken, isShown));
  return lines.join('\n');
}

function describeAccounts(
  { baseUrl, modelFile, trustedDocuments }: Config,
  demoToken: string | null,
  isShown: boolean,
): string[] {
  if (demoToken === null)
    return [
      '  Accounts   ./directory service-account create --id ID --name NAME --scopes read --contact TEXT --purpose TEXT',
    ];
  if (!isShown) return ['  Service account «demo»: only a log with LOG_FORMAT=text shows its token'];
  const account = `  Service account «demo», token ${demoToken}`;
  if (trustedDocuments?.isEnforced === true) return [account];
  const ofModel =
    modelFile === SAMPLE_MODEL
      ? [`Fields of ${modelFile}:`, ...queryCommand(baseUrl, demoToken, MODEL_QUERY)]
      : [];
  return [account, 'Try:', ...queryCommand(baseUrl, demoToken, GROUP_QUERY), ...ofModel];
}

function queryCommand(baseUrl: string, token: string, query: string): string[] {
  return [
    `  curl -s ${baseUrl}/graphql/v1 -H 'Authorization: Basic ${token}' -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify({ query })}'`,
  ];
}
