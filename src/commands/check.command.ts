import { access } from 'node:fs/promises';
import type { Command } from 'commander';
import { ExternalIssuer } from '../auth/external-issuer.js';
import { type Config, ConfigError, readConfig } from '../config/config.js';
import { type SettingName, SETTINGS } from '../config/settings.js';
import { DirectoryDataSource } from '../database/data-source.js';
import { ENTITIES } from '../entities.js';
import { ClientsFileError, readClients } from '../identity-provider/clients.js';
import { compileFilter } from '../ldap/filter.js';
import { EXIT_FAILED, EXIT_WRONG_USE } from '../start/failure.js';

/** One thing that was looked at; `problem` says what is wrong and what to do. */
interface Finding {
  readonly what: string;
  readonly problem: string | null;
}

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('check the settings and everything that they name, and list all problems at once')
    .option('--json', 'answer with one JSON object')
    .action(async ({ json }: { json?: true }) => {
      const { config, problems } = tryConfig();
      const findings: Finding[] = problems.map((problem) => ({ what: 'settings', problem }));
      if (config !== null) findings.push({ what: 'settings', problem: null }, ...(await look(config)));
      console.log(
        json === true ? JSON.stringify({ settings: describeSettings(), findings }) : toText(findings),
      );
      if (problems.length > 0) process.exitCode = EXIT_WRONG_USE;
      else if (findings.some(({ problem }) => problem !== null)) process.exitCode = EXIT_FAILED;
    });
}

function tryConfig(): { config: Config | null; problems: readonly string[] } {
  try {
    return { config: readConfig(), problems: [] };
  } catch (error) {
    if (error instanceof ConfigError) return { config: null, problems: error.problems };
    throw error;
  }
}

async function look(config: Config): Promise<Finding[]> {
  const { mapping, source } = config.directory;
  return [
    ...(source.kind === 'file'
      ? [await finding('directory file', () => access(source.file), `it cannot be read: ${source.file}`)]
      : []),
    await finding('people filter', () => compileFilter(mapping.people.filter)),
    await finding('groups filter', () => compileFilter(mapping.groups.filter)),
    await finding('database', () => openDatabase(config)),
    ...(config.auth.issuer === null
      ? lookAtClients(config)
      : [await lookAtIssuer(config, config.auth.issuer)]),
  ];
}

async function finding(what: string, attempt: () => unknown, problem?: string): Promise<Finding> {
  try {
    await attempt();
    return { what, problem: null };
  } catch (error) {
    return { what, problem: problem ?? (error instanceof Error ? error.message : String(error)) };
  }
}

async function openDatabase(config: Config): Promise<void> {
  const dataSource = new DirectoryDataSource(config.database, ENTITIES);
  await dataSource.initialize();
  await dataSource.destroy();
}

function lookAtClients(config: Config): Finding[] {
  const what = 'clients of the embedded identity provider';
  try {
    readClients(config.auth.embeddedClients);
    return [{ what, problem: null }];
  } catch (error) {
    if (error instanceof ClientsFileError) return error.problems.map((problem) => ({ what, problem }));
    throw error;
  }
}

function lookAtIssuer(config: Config, issuer: string): Promise<Finding> {
  const external = new ExternalIssuer(issuer, config.auth.introspection);
  return finding('identity provider', () => external.fetchKeys(), `no keys can be had from ${issuer}`);
}

function toText(findings: readonly Finding[]): string {
  return [
    ...describeSettings().map(({ name, value }) => `  ${name}=${value}`),
    ...findings.map(({ what, problem }) =>
      problem === null ? `ok       ${what}` : `PROBLEM  ${what}: ${problem}`,
    ),
  ].join('\n');
}

/** Every setting as it stands in the environment; a secret only tells whether it is there. */
function describeSettings(): { name: string; value: string }[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const value = process.env[name] ?? '';
    const isSet = value !== '' || (process.env[`${name}_FILE`] ?? '') !== '';
    const hidden = 'secret' in SETTINGS[name];
    return { name, value: isSet ? (hidden ? '(set)' : value) : '(default)' };
  });
}
