import { type Command, InvalidArgumentError } from 'commander';
import { knownScopes, SCOPES, type Scope } from '../auth/principal.js';
import { BadUserInputError } from '../common/errors.js';
import { type Config, ConfigError, readConfig } from '../config/config.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from '../config/scopes.js';
import type { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import type { IssuedToken, ServiceAccountsService } from '../service-accounts/service-accounts.service.js';
import { addExamples, COLUMNS, paint } from './help.js';
import { describeAccounts, expiresSoon, sortByEnd, warnOfEnds } from './service-account-list.js';

const DAY = 86_400;

const SCOPES_HELP = `the scopes: ${SCOPES.join(', ')}, and those of the model file`;

export function addServiceAccountCommands(program: Command): void {
  const accounts = program.command('service-account').description('manage the accounts of programs');
  addExamples(
    accounts,
    ['service-account list', 'List the accounts and their expiry'],
    ['service-account create --help', 'Show how to create an account'],
  );
  addCreate(accounts);
  addList(accounts);
  addRotate(accounts);
  addRevoke(accounts);
}

interface CreateOptions {
  id: string;
  name: string;
  scopes: Scope[];
  description?: string;
  contact?: string;
  purpose?: string;
  groups?: string[];
  expires?: number;
  json?: true;
}

function addCreate(accounts: Command): void {
  const command = accounts
    .command('create')
    .description('create an account and print its token, once')
    .requiredOption('--id <id>', '2 to 64 lower-case letters, digits and hyphens')
    .requiredOption('--name <name>', 'the name of the program')
    .requiredOption('--scopes <scopes>', SCOPES_HELP, parseScopeList)
    .option('--description <text>', 'the purpose, as the API shows it')
    .option('--contact <text>', 'a contact, such as an e-mail address; required in production', parseText)
    .option(
      '--purpose <text>',
      'the purpose for which it reads personal data; required in production',
      parseText,
    )
    .option(
      '--groups <ids>',
      'the groups that it sees, with the groups in them and their members, and nothing else',
      parseIds,
    )
    .option('--expires <time>', 'the lifetime: 90d, 12h', parseDuration)
    .option('--json', 'print one JSON object')
    .action(async ({ id, name, scopes, expires, json, ...given }: CreateOptions) => {
      const { description, contact, purpose, groups } = given;
      const config = readConfig();
      if (config.production) requireAnswerable({ contact, purpose });
      const expiresAt = expires === undefined ? null : new Date(Date.now() + expires * 1000);
      const about = { description: description ?? null, contact: contact ?? null, purpose: purpose ?? null };
      const issued = await withAccounts(config, (service) =>
        service.create({ id, name, scopes, ...about, expiresAt, groups: groups ?? null }),
      );
      printToken(issued, json === true, `Service account ${id} is made.`);
    });
  addExamples(command, [
    'service-account create --id reports --name Reports --scopes read,directory \\\n' +
      '        --contact it@example.org --purpose "The printed year book" --expires 90d',
    'Create an account that may list people, for 90 days',
  ]);
}

/** Accounts that read personal data need a responsible contact and a purpose (docs/security.md). */
function requireAnswerable(about: { contact: string | undefined; purpose: string | undefined }): void {
  const missing = (['contact', 'purpose'] as const).filter((name) => about[name] === undefined);
  const [first] = missing;
  if (first === undefined) return;
  const options = missing.map((name) => `--${name}`).join(' and ');
  throw new BadUserInputError(
    `${options} ${missing.length === 1 ? 'is' : 'are'} needed in production: whom to ask about the account, and what it reads data of people for`,
    first,
  );
}

function addList(accounts: Command): void {
  const command = accounts
    .command('list')
    .description('list the accounts that are not revoked, by expiry')
    .option('--json', 'print one JSON array')
    .action(async ({ json }: { json?: true }) => {
      const [list, groupIds] = await withAccounts(readConfig(), async (service) => {
        const accounts = await service.list();
        return [accounts, await service.listGroupIds(accounts)] as const;
      });
      const now = new Date();
      if (json === true) {
        const described = sortByEnd(list).map((each) => ({
          ...toJson(each),
          groups: groupsOf(each, groupIds),
          expiresSoon: expiresSoon(each, now),
        }));
        console.log(JSON.stringify(described));
        return;
      }
      const columns = process.stdout.isTTY ? process.stdout.columns || COLUMNS : COLUMNS;
      for (const line of describeAccounts(withGroups(list, groupIds), now, columns)) {
        console.log(line.startsWith('!') ? paint('yellow', line) : line);
      }
      const warning = warnOfEnds(list, now);
      if (warning !== null) console.error(paint('yellow', warning, process.stderr));
    });
  addExamples(
    command,
    ['service-account list', 'List the accounts and their expiry'],
    [
      "service-account list --json | jq -r '.[] | select(.expiresSoon).id'",
      'Print the accounts that expire within 14 days',
    ],
  );
}

function addRotate(accounts: Command): void {
  const command = accounts
    .command('rotate')
    .argument('<id>', 'the id of the account')
    .description('create a new token of an account, and let the old one expire')
    .option('--overlap <time>', 'how long the old token stays valid', parseDuration, DAY)
    .option('--json', 'print one JSON object')
    .action(async (id: string, { overlap, json }: { overlap: number; json?: true }) => {
      const issued = await withAccounts(readConfig(), (service) => service.rotate(id, overlap));
      printToken(
        issued,
        json === true,
        `Service account ${id} has a new token; the old one ends in ${overlap} s.`,
      );
    });
  addExamples(
    command,
    ['service-account rotate reports', 'Create a new token; the old one stays valid for a day'],
    [
      'service-account rotate reports --overlap 0s',
      'Replace a token that was disclosed: the old one expires at once',
    ],
  );
}

function addRevoke(accounts: Command): void {
  const command = accounts
    .command('revoke')
    .argument('<id>', 'the id of the account')
    .description('revoke an account at once and permanently')
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json }: { json?: true }) => {
      await withAccounts(readConfig(), (service) => service.revoke(id));
      console.log(json === true ? JSON.stringify({ id }) : `Service account ${id} is revoked.`);
    });
  addExamples(command, ['service-account revoke reports', 'Revoke an account that is no longer used']);
}

async function withAccounts<Result>(
  config: Config,
  work: (service: ServiceAccountsService) => Promise<Result>,
): Promise<Result> {
  const [{ withDatabase }, { ServiceAccountsService }, { ServiceAccountEntity }] = await Promise.all([
    import('./context.js'),
    import('../service-accounts/service-accounts.service.js'),
    import('../service-accounts/service-account.entity.js'),
  ]);
  return withDatabase(config, (dataSource) =>
    work(new ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity))),
  );
}

/** Prints the token as the last line, where scripts can read it. */
function printToken({ account, token }: IssuedToken, json: boolean, sentence: string): void {
  if (json) {
    console.log(JSON.stringify({ ...toJson(account), token }));
    return;
  }
  console.log(`${sentence} Send its token as «Authorization: Basic TOKEN»; it is shown this once:`);
  console.log(token);
}

function toJson(account: ServiceAccountEntity): object {
  const { id, name, description, contact, purpose, scopes, createdAt, expiresAt, lastUsedAt } = account;
  return { id, name, description, contact, purpose, scopes, createdAt, expiresAt, lastUsedAt };
}

type Limited = Pick<ServiceAccountEntity, 'limitedTo'>;

/** The ids of the groups to which an account is limited; the entryUUID of a deleted one. Null: it is not limited. */
function groupsOf({ limitedTo }: Limited, ids: ReadonlyMap<string, string>): string[] | null {
  return limitedTo?.map((uuid) => ids.get(uuid) ?? uuid) ?? null;
}

function withGroups<Account extends Limited>(accounts: readonly Account[], ids: ReadonlyMap<string, string>) {
  return accounts.map((account) => ({ ...account, groups: groupsOf(account, ids) }));
}

function parseIds(text: string): string[] {
  const ids = text.split(',').flatMap((id) => (id.trim() === '' ? [] : [id.trim()]));
  if (ids.length === 0) throw new InvalidArgumentError('The ids of groups are separated by commas.');
  return ids;
}

function parseText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('The value must not be empty.');
  return text.trim();
}

function parseScopeList(text: string): Scope[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const known = configuredScopes();
  const scopes = knownScopes(names, known);
  if (scopes.length === 0 || scopes.length < new Set(names).size) {
    throw new InvalidArgumentError(
      `Scopes are ${known.map(({ name }) => name).join(', ')}, separated by commas.`,
    );
  }
  return scopes;
}

function configuredScopes(): readonly ScopeDefinition[] {
  try {
    return readConfig().scopes;
  } catch (error) {
    // The action reads the settings too, and reports their problems.
    if (error instanceof ConfigError) return BUILT_IN_SCOPES;
    throw error;
  }
}

/** Parses a duration into seconds. */
function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new InvalidArgumentError('A duration is a number and s, m, h or d, such as 90d or 12h.');
  return Number(count) * ({ s: 1, m: 60, h: 3600, d: DAY }[unit ?? 's'] ?? 1);
}
