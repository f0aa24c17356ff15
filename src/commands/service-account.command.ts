import { type Command, InvalidArgumentError, Option } from 'commander';
import { knownScopes, SCOPES, type Scope } from '../auth/principal.js';
import { BadUserInputError, NotFoundError } from '../common/errors.js';
import { printable } from '../common/printable.js';
import { type Config, ConfigError, readConfig } from '../config/config.js';
import { BUILT_IN_SCOPES } from '../config/scopes.js';
import type {
  AccountChanges,
  DescribedAccount,
  IssuedToken,
  ServiceAccountsService,
} from '../service-accounts/service-accounts.service.js';
import { addCommand, addExamples, cut, describeRows, paint, printWritten, terminalWidth } from './help.js';

/** Seconds, and milliseconds, of a day. */
const DAY = 86_400;
const DAY_MS = 86_400_000;
/** Days before its expiry from which an account is marked. */
const NOTICE_DAYS = 14;
/** Maximum characters of an id in a line. service-accounts.service.ts defines the format of ids. */
const MOST_OF_ID = 24;

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
  addShow(accounts);
  addRotate(accounts);
  addRevoke(accounts);
}

interface AboutOptions {
  name?: string;
  scopes?: Scope[];
  description?: string;
  contact?: string;
  purpose?: string;
  groups?: string[];
  allGroups?: true;
  expires?: End;
}

/** Adds the options of what an account has. A new account needs some of them. */
function addAboutOptions(command: Command, isNew: boolean): Command {
  const add = (flags: string, text: string, parse: (text: string) => unknown, isNeeded = false) =>
    command.addOption(new Option(flags, text).argParser(parse).makeOptionMandatory(isNew && isNeeded));
  const inProduction = isNew ? '; required in production' : '';
  add('--name <name>', 'the name of the program', parseText, true);
  add(
    '--scopes <scopes>',
    `the scopes: ${SCOPES.join(', ')}, and those of the model file`,
    parseScopes,
    true,
  );
  add('--description <text>', 'the purpose, as the API shows it', parseText);
  add('--contact <text>', `a contact, such as an e-mail address${inProduction}`, parseText);
  add('--purpose <text>', `the purpose for which it reads personal data${inProduction}`, parseText);
  add('--groups <ids>', 'the groups that it sees, with those in them and their members', parseIds);
  return add('--expires <time>', 'the lifetime from now: 90d, 12h, never', parseEnd);
}

interface CreateOptions extends AboutOptions {
  id: string;
  name: string;
  scopes: Scope[];
  reuse?: true;
  new?: true;
  json?: true;
}

function addCreate(accounts: Command): void {
  const command = addCommand(accounts, 'create', 'create an account and print its token, once', [
    'service-account create --id reports --name Reports --scopes read,directory \\\n' +
      '        --contact it@example.org --purpose "The printed year book" --expires 90d',
    'Create an account that may list users, for 90 days',
  ]).requiredOption('--id <id>', '2 to 64 lower-case letters, digits and hyphens');
  addAboutOptions(command, true)
    .option(
      '--reuse',
      'take the id of a revoked account, whose requests the access log then shows as of this one',
    )
    .option('--new', 'create the embedded database if no service has used it')
    .action(async ({ id, reuse, new: creates, json, ...given }: CreateOptions) => {
      const config = readConfig();
      if (config.production) requireAnswerable(given);
      const about = { description: null, expiresAt: null, ...changesOf(given) };
      const account = { ...about, id, name: given.name, scopes: given.scopes, reuse: reuse === true };
      const issued = await withAccounts(config, (service) => service.create(account), creates);
      printToken(config, issued, json === true, (where) => `Service account ${id} is created ${where}.`);
    });
}

function addUpdate(accounts: Command): void {
  const command = addCommand(
    accounts,
    'update <id>',
    'change an account; its token stays valid',
    ['service-account update reports --expires 90d', 'Extend an account; its token stays valid'],
    ['service-account update reports --scopes read', 'Take a scope from an account'],
  );
  addAboutOptions(command, false)
    .addOption(new Option('--all-groups', 'end the limit to groups').conflicts('groups'))
    .action(async (id: string, { json, ...given }: AboutOptions & { json?: true }) => {
      const changes = changesOf(given);
      if (Object.keys(changes).length === 0)
        throw new BadUserInputError('Nothing would change: give an option (--help lists them)', 'id');
      const config = readConfig();
      const account = await withAccounts(config, (service) => service.update(id, changes));
      const describe = (where: string) => `Service account ${id} is changed ${where}.`;
      printWritten(config, json === true, toJson(account), describe);
    });
}

function changesOf({ allGroups, expires, ...others }: AboutOptions): AccountChanges {
  return {
    ...others,
    ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expires }),
    ...(allGroups !== undefined && { groups: null }),
  };
}

/** Accounts that read personal data need a responsible contact and a purpose (SECURITY.md). */
function requireAnswerable(about: Pick<AboutOptions, 'contact' | 'purpose'>): void {
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
  addCommand(
    accounts,
    'list',
    'list the accounts that are not revoked, by expiry',
    ['service-account list', 'List the accounts and their expiry'],
    [
      "service-account list --json | jq -r '.[] | select(.expiresSoon).id'",
      'Print the accounts that expire within 14 days',
    ],
  ).action(async ({ json }: { json?: true }) => {
    const end = ({ expiresAt }: DescribedAccount) => expiresAt?.getTime() ?? Number.MAX_VALUE;
    const described = await withAccounts(readConfig(), (service) => service.list());
    const list = described.sort((left, right) => end(left) - end(right));
    const now = new Date();
    if (json === true) {
      console.log(JSON.stringify(list.map((account) => describedJson(account, now))));
      return;
    }
    for (const line of describeAccounts(list, now, terminalWidth()))
      console.log(line.startsWith('!') ? paint('yellow', line) : line);
    const ending = list.filter((account) => expiresSoon(account, now)).map(({ id }) => id);
    if (ending.length === 0) return;
    const warning = `! ${ending.join(', ')} ${ending.length === 1 ? 'ends' : 'end'} within ${NOTICE_DAYS} days`;
    console.error(paint('yellow', warning, process.stderr));
    console.error('  → Extend it: ./directory service-account update ID --expires 90d');
  });
}

/** Returns whether an account expires within fourteen days, or has expired (pure). */
export function expiresSoon({ expiresAt }: Pick<DescribedAccount, 'expiresAt'>, now: Date): boolean {
  return expiresAt !== null && expiresAt.getTime() - now.getTime() < NOTICE_DAYS * DAY_MS;
}

/** Formats accounts with two lines each, of at most `columns` characters: columns to compare, and free text (pure). */
function describeAccounts(accounts: readonly DescribedAccount[], now: Date, columns: number): string[] {
  if (accounts.length === 0) return ['There is no service account.'];
  const rows = accounts.map(({ id, lastUsedAt, expiresAt, tokens, scopes }) => [
    ...[cut(id, MOST_OF_ID), describeUse(lastUsedAt, now), describeEnd(expiresAt, now)],
    ...[String(tokens), scopes.join(' ')],
  ]);
  const [head = '', ...firsts] = describeRows([['ID', 'LAST USED', 'ENDS', 'TOKENS', 'SCOPES'], ...rows]);
  const lines = accounts.flatMap((account, index) => {
    const { name, groups, contact, purpose } = account;
    const limit = groups ? [`only ${groups.join(', ')}`] : [];
    const about = [name, ...limit, contact ?? 'no contact', purpose ?? 'no purpose'];
    return [
      `${expiresSoon(account, now) ? '!' : ' '} ${firsts[index] ?? ''}`,
      `      ${about.map(printable).join(' · ')}`,
    ];
  });
  return [`  ${head}`, ...lines].map((line) => cut(line, columns));
}

function describeUse(at: Date | null, now: Date): string {
  if (at === null) return 'never';
  const days = Math.floor((now.getTime() - at.getTime()) / DAY_MS);
  return days < 1 ? 'within a day' : `${days} ${days === 1 ? 'day' : 'days'} ago`;
}

function describeEnd(at: Date | null, now: Date): string {
  if (at === null) return 'never';
  const days = Math.ceil((at.getTime() - now.getTime()) / DAY_MS);
  if (days <= 0) return 'has ended';
  if (days > NOTICE_DAYS) return at.toISOString().slice(0, 10);
  return days === 1 ? 'within a day' : `within ${days} days`;
}

function addShow(accounts: Command): void {
  const example = ['service-account show reports', 'Show everything that is known about an account'] as const;
  addCommand(accounts, 'show <id>', 'show one account', example).action(
    async (id: string, { json }: { json?: true }) => {
      const all = await withAccounts(readConfig(), (service) => service.list());
      const account = all.find((each) => each.id === id);
      if (account === undefined) throw new NotFoundError(`There is no service account «${id}»`, 'id');
      const now = new Date();
      const { name, description, contact, purpose, groups, createdAt, lastUsedAt, expiresAt } = account;
      const rows: [string, string][] = [
        ['name', name],
        ['description', description ?? 'none'],
        ['contact', contact ?? 'none'],
        ['purpose', purpose ?? 'none'],
        ['scopes', account.scopes.join(' ')],
        ['groups', groups?.join(', ') ?? 'all'],
        ['tokens', String(account.tokens)],
        ['created', createdAt.toISOString()],
        ['last used', describeUse(lastUsedAt, now)],
        ['ends', describeEnd(expiresAt, now)],
      ];
      if (json === true) console.log(JSON.stringify(describedJson(account, now)));
      else console.log(describeRows(rows.map((row) => row.map(printable))).join('\n'));
    },
  );
}

function addRotate(accounts: Command): void {
  addCommand(
    accounts,
    'rotate <id>',
    'create a new token of an account, and let the old one expire',
    ['service-account rotate reports', 'Create a new token; the old one stays valid for a day'],
    [
      'service-account rotate reports --overlap 0s',
      'Replace a token that was disclosed: the old one expires at once',
    ],
  )
    .option('--overlap <time>', 'how long the old token stays valid', parseDuration, DAY)
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
}

function addRevoke(accounts: Command): void {
  const example = ['service-account revoke reports', 'Revoke an account that is no longer used'] as const;
  addCommand(accounts, 'revoke <id>', 'revoke an account at once and permanently', example).action(
    async (id: string, { json }: { json?: true }) => {
      const config = readConfig();
      await withAccounts(config, (service) => service.revoke(id));
      printWritten(config, json === true, { id }, (where) => `Service account ${id} is revoked ${where}.`);
    },
  );
}

/** Prints the token as the last line, where scripts can read it. */
function printToken(
  config: Config,
  { account, token }: IssuedToken,
  asJson: boolean,
  describe: (where: string) => string,
): void {
  const use = 'Send its token as «Authorization: Basic TOKEN»; it is shown this once:';
  const text = (where: string) => `${describe(where)} ${use}\n${token}`;
  printWritten(config, asJson, { ...toJson(account), token }, text);
}

function toJson(account: Omit<DescribedAccount, 'groups' | 'tokens'>): object {
  const { id, name, description, contact, purpose, scopes, createdAt, expiresAt, lastUsedAt } = account;
  return { id, name, description, contact, purpose, scopes, createdAt, expiresAt, lastUsedAt };
}

function describedJson(account: DescribedAccount, now: Date): object {
  const { groups, tokens } = account;
  return { ...toJson(account), groups, tokens, expiresSoon: expiresSoon(account, now) };
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

/** Parses ids that are separated by commas. */
function parseIds(text: string): string[] {
  const ids = text.split(',').flatMap((id) => (id.trim() === '' ? [] : [id.trim()]));
  if (ids.length === 0) throw new InvalidArgumentError('The ids of groups are separated by commas.');
  return ids;
}

function parseText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('The value must not be empty.');
  return text.trim();
}

function parseScopes(text: string): Scope[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const known = configuredScopes();
  const scopes = knownScopes(names, known);
  if (scopes.length > 0 && scopes.length === new Set(names).size) return scopes;
  const list = known.map(({ name }) => name).join(', ');
  throw new InvalidArgumentError(`Scopes are ${list}, separated by commas.`);
}

function configuredScopes(): Config['scopes'] {
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

/** A time, or none. Commander replaces null by an empty text. */
type End = Date | 'never';

/** Parses a duration from now into a time. */
function parseEnd(text: string): End {
  if (text === 'never') return text;
  const seconds = parseDuration(text);
  if (seconds === 0)
    throw new InvalidArgumentError('It would end at once: `service-account revoke ID` ends an account.');
  return new Date(Date.now() + seconds * 1000);
}
