import { type Command, Option } from 'commander';
import type { Scope } from '../auth/principal.js';
import { BadUserInputError } from '../common/errors.js';
import { type Config, readConfig } from '../config/config.js';
import type { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import type {
  AccountChanges,
  IssuedToken,
  ServiceAccountsService,
} from '../service-accounts/service-accounts.service.js';
import { addExamples, DEFAULT_WIDTH, paint, printWritten } from './help.js';
import { describeAccounts, expiresSoon, sortByEnd, warnOfEnds } from './service-account-list.js';
import {
  DAY,
  type End,
  timeOfEnd,
  parseDuration,
  parseEnd,
  parseIds,
  parseScopeList,
  parseText,
  SCOPES_HELP,
} from './service-account-options.js';

export function addServiceAccountCommands(program: Command): void {
  const accounts = program.command('service-account').description('manage the accounts of programs');
  addExamples(
    accounts,
    ['service-account list', 'List the accounts and their expiry'],
    ['service-account create --help', 'Show how to create an account'],
  );
  addCreate(accounts);
  addUpdate(accounts);
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
  expires?: End;
  reuse?: true;
  new?: true;
  json?: true;
}

const CONTACT = 'a contact, such as an e-mail address';
const PURPOSE = 'the purpose for which it reads personal data';
const GROUPS = 'the groups that it sees, with the groups in them and their members, and nothing else';

function addCreate(accounts: Command): void {
  const command = accounts
    .command('create')
    .description('create an account and print its token, once')
    .requiredOption('--id <id>', '2 to 64 lower-case letters, digits and hyphens')
    .requiredOption('--name <name>', 'the name of the program')
    .requiredOption('--scopes <scopes>', SCOPES_HELP, parseScopeList)
    .option('--description <text>', 'the purpose, as the API shows it')
    .option('--contact <text>', `${CONTACT}; required in production`, parseText)
    .option('--purpose <text>', `${PURPOSE}; required in production`, parseText)
    .option('--groups <ids>', GROUPS, parseIds)
    .option('--expires <time>', 'the lifetime: 90d, 12h, never', parseEnd)
    .option(
      '--reuse',
      'take the id of a revoked account, whose requests the access log then shows as of this one',
    )
    .option('--new', 'create the embedded database if no service has used it')
    .option('--json', 'print one JSON object')
    .action(async ({ id, name, scopes, json, ...given }: CreateOptions) => {
      const { description, contact, purpose, groups, expires, reuse } = given;
      const config = readConfig();
      if (config.production) requireAnswerable({ contact, purpose });
      const about = { description: description ?? null, contact: contact ?? null, purpose: purpose ?? null };
      const limits = {
        expiresAt: timeOfEnd(expires ?? 'never'),
        groups: groups ?? null,
        reuse: reuse === true,
      };
      const issued = await withAccounts(
        config,
        (service) => service.create({ id, name, scopes, ...about, ...limits }),
        given.new,
      );
      printToken(config, issued, json === true, (where) => `Service account ${id} is created ${where}.`);
    });
  addExamples(command, [
    'service-account create --id reports --name Reports --scopes read,directory \\\n' +
      '        --contact it@example.org --purpose "The printed year book" --expires 90d',
    'Create an account that may list users, for 90 days',
  ]);
}

interface UpdateOptions extends Partial<Omit<CreateOptions, 'id' | 'reuse' | 'new'>> {
  allGroups?: true;
}

function addUpdate(accounts: Command): void {
  const command = accounts
    .command('update')
    .argument('<id>', 'the id of the account')
    .description('change an account; its token stays valid')
    .option('--name <name>', 'the name of the program', parseText)
    .option('--scopes <scopes>', SCOPES_HELP, parseScopeList)
    .option('--description <text>', 'the purpose, as the API shows it')
    .option('--contact <text>', CONTACT, parseText)
    .option('--purpose <text>', PURPOSE, parseText)
    .addOption(new Option('--groups <ids>', GROUPS).argParser(parseIds).conflicts('allGroups'))
    .option('--all-groups', 'end the limit to groups')
    .option('--expires <time>', 'the lifetime from now: 90d, 12h, never', parseEnd)
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json, ...given }: UpdateOptions) => {
      const changes = changesOf(given);
      if (Object.keys(changes).length === 0)
        throw new BadUserInputError('Nothing would change: give an option (--help lists them)', 'id');
      const config = readConfig();
      const account = await withAccounts(config, (service) => service.update(id, changes));
      printWritten(
        config,
        json === true,
        toJson(account),
        (where) => `Service account ${id} is changed ${where}.`,
      );
    });
  addExamples(
    command,
    ['service-account update reports --expires 90d', 'Extend an account; its token stays valid'],
    ['service-account update reports --scopes read', 'Take a scope from an account'],
  );
}

function changesOf({ allGroups, expires, groups, ...others }: Omit<UpdateOptions, 'json'>): AccountChanges {
  return {
    ...others,
    ...(expires === undefined ? {} : { expiresAt: timeOfEnd(expires) }),
    ...(groups === undefined ? {} : { groups }),
    ...(allGroups === undefined ? {} : { groups: null }),
  };
}

/** Accounts that read personal data need a responsible contact and a purpose (SECURITY.md). */
function requireAnswerable(about: { contact: string | undefined; purpose: string | undefined }): void {
  const missing = (['contact', 'purpose'] as const).filter((name) => about[name] === undefined);
  const [first] = missing;
  if (first === undefined) return;
  const options = missing.map((name) => `--${name}`).join(' and ');
  throw new BadUserInputError(
    `${options} ${missing.length === 1 ? 'is' : 'are'} needed in production: whom to ask about the account, and what it reads data of users for`,
    first,
  );
}

function addList(accounts: Command): void {
  const command = accounts
    .command('list')
    .description('list the accounts that are not revoked, by expiry')
    .option('--json', 'print one JSON array')
    .action(async ({ json }: { json?: true }) => {
      const list = await withAccounts(readConfig(), (service) => service.describeAll());
      const now = new Date();
      if (json === true) {
        const described = sortByEnd(list).map((each) => ({
          ...toJson(each),
          groups: each.groups,
          tokens: each.tokens,
          expiresSoon: expiresSoon(each, now),
        }));
        console.log(JSON.stringify(described));
        return;
      }
      const columns = process.stdout.isTTY ? process.stdout.columns || DEFAULT_WIDTH : DEFAULT_WIDTH;
      for (const line of describeAccounts(list, now, columns)) {
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
      const config = readConfig();
      const issued = await withAccounts(config, (service) => service.rotate(id, overlap));
      const end = new Date(Date.now() + overlap * 1000).toISOString();
      const ends = overlap === 0 ? 'has ended' : `ends at ${end}`;
      printToken(
        config,
        issued,
        json === true,
        (where) => `Service account ${id} has a new token ${where}; the old one ${ends}.`,
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
      const config = readConfig();
      await withAccounts(config, (service) => service.revoke(id));
      printWritten(config, json === true, { id }, (where) => `Service account ${id} is revoked ${where}.`);
    });
  addExamples(command, ['service-account revoke reports', 'Revoke an account that is no longer used']);
}

/** Prints the token as the last line, where scripts can read it. */
function printToken(
  config: Config,
  { account, token }: IssuedToken,
  asJson: boolean,
  describe: (where: string) => string,
): void {
  const use = 'Send its token as «Authorization: Basic TOKEN»; it is shown this once:';
  printWritten(
    config,
    asJson,
    { ...toJson(account), token },
    (where) => `${describe(where)} ${use}\n${token}`,
  );
}

function toJson(account: Omit<ServiceAccountEntity, 'revokedAt' | 'limitedTo'>): object {
  const { id, name, description, contact, purpose, scopes, createdAt, expiresAt, lastUsedAt } = account;
  return { id, name, description, contact, purpose, scopes, createdAt, expiresAt, lastUsedAt };
}

/** @param creates whether an embedded database is created if there is none */
async function withAccounts<Result>(
  config: Config,
  work: (accounts: ServiceAccountsService) => Promise<Result>,
  creates = false,
): Promise<Result> {
  const [{ withDatabase }, accounts, { ServiceAccountEntity }] = await Promise.all([
    import('./context.js'),
    import('../service-accounts/service-accounts.service.js'),
    import('../service-accounts/service-account.entity.js'),
  ]);
  return withDatabase(
    config,
    (dataSource) => work(new accounts.ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity))),
    { creates },
  );
}
