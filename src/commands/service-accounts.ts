import { knownScopes } from '../auth/principal.js';
import { BadUserInputError, NotFoundError } from '../common/errors.js';
import { type Config, readConfig } from '../config/config.js';
import { PROGRAM } from '../config/paths.js';
import { AS_JSON } from '../process.js';
import { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import {
  type AccountChanges,
  type DescribedAccount,
  type IssuedToken,
  ServiceAccountsService,
} from '../service-accounts/service-accounts.service.js';
import { linesOf, paint, print, printTable, printWritten, withDatabase } from './context.js';

/** Days before its expiry from which an account is marked. */
const NOTICE_DAYS = 14;

interface AboutOptions {
  name?: string;
  scopes?: string[];
  description?: string;
  contact?: string;
  purpose?: string;
  groups?: string[];
  allGroups?: true;
  expires?: Date | 'never';
  json?: true;
}

interface CreateOptions extends AboutOptions {
  id: string;
  name: string;
  scopes: string[];
  reuse?: true;
  new?: true;
}

export async function createAccount({ id, reuse, new: creates, ...given }: CreateOptions): Promise<void> {
  const config = readConfig();
  if (config.production) requireAnswerable(given);
  const { name, scopes } = given;
  const account = { description: null, expiresAt: null, name, scopes, ...changesOf(given, config) };
  const work = (service: ServiceAccountsService) => service.create({ ...account, id, reuse: reuse === true });
  const issued = await withAccounts(config, work, creates);
  printToken(config, issued, (where) => `Service account ${id} is created ${where}.`);
}

export async function updateAccount(id: string, given: AboutOptions): Promise<void> {
  const config = readConfig();
  const changes = changesOf(given, config);
  if (Object.keys(changes).length === 0)
    throw new BadUserInputError('Nothing would change: give an option (--help lists them)', 'id');
  const account = await withAccounts(config, (service) => service.update(id, changes));
  printWritten(config, shownOf(account), (where) => `Service account ${id} is changed ${where}.`);
}

/** What the options change. @throws BadUserInputError if a scope is unknown */
function changesOf(
  { allGroups, expires, json: _, ...others }: AboutOptions,
  { scopes }: Config,
): AccountChanges {
  const { scopes: asked } = others;
  const names = scopes.map(({ name }) => name);
  if (asked !== undefined && (asked.length === 0 || !asked.every((name) => names.includes(name))))
    throw new BadUserInputError(`Scopes are ${names.join(', ')}, separated by commas`, 'scopes');
  return {
    ...others,
    ...(asked !== undefined && { scopes: knownScopes(asked, scopes) }),
    ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expires }),
    ...(allGroups !== undefined && { groups: null }),
  };
}

/** Accounts that read personal data need a responsible contact and a purpose (SECURITY.md). */
function requireAnswerable(about: Pick<AboutOptions, 'contact' | 'purpose'>): void {
  const first = (['contact', 'purpose'] as const).find((name) => about[name] === undefined);
  if (first === undefined) return;
  const reason =
    'in production, --contact says whom to ask about the account, and --purpose what it reads data of users for';
  throw new BadUserInputError(`--${first} is needed: ${reason}`, first);
}

/** Whether an account expires within fourteen days, or has expired. */
export function expiresSoon({ expiresAt }: Pick<DescribedAccount, 'expiresAt'>): boolean {
  return expiresAt !== null && expiresAt.getTime() - Date.now() < NOTICE_DAYS * 86_400_000;
}

export async function listAccounts(): Promise<void> {
  const end = ({ expiresAt }: DescribedAccount) => expiresAt?.getTime() ?? Number.MAX_VALUE;
  const accounts = (await describeAccounts()).sort((left, right) => end(left) - end(right));
  const dayOf = (time: Date | null) => time?.toISOString().slice(0, 10) ?? 'never';
  const rows = accounts.map(({ id, expiresAt, lastUsedAt, scopes, groups, name, contact }) => [
    ...[
      id,
      dayOf(expiresAt),
      dayOf(lastUsedAt),
      scopes.join(' '),
      groups?.join(', ') ?? 'all',
      name,
      contact ?? 'none',
    ],
  ]);
  const head = ['ID', 'ENDS', 'LAST USED', 'SCOPES', 'GROUPS', 'NAME', 'CONTACT'];
  printTable(accounts, [head, ...rows], 'There is no service account.');
  const ending = accounts.filter(({ expiresSoon: isEnding }) => isEnding).map(({ id }) => id);
  if (ending.length === 0 || AS_JSON) return;
  const warning = `! Within ${NOTICE_DAYS} days, or already, these end: ${ending.join(', ')}`;
  console.error(paint('yellow', warning, process.stderr));
  console.error(`  → Extend them: ${PROGRAM} service-account update ID --expires 90d`);
}

export async function showAccount(id: string): Promise<void> {
  const account = (await describeAccounts()).find((each) => each.id === id);
  if (account === undefined) throw new NotFoundError(`There is no service account «${id}»`, 'id');
  const shown = (key: string, value: unknown) => {
    if (value instanceof Date) return value.toISOString();
    if (Array.isArray(value)) return value.join(' ');
    if (value === null) return key === 'groups' ? 'all' : 'none';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  print(account, () =>
    linesOf(Object.entries(account).map(([key, value]) => [key, shown(key, value)])).join('\n'),
  );
}

export async function rotateToken(id: string, { overlap }: { overlap: number }): Promise<void> {
  const config = readConfig();
  const issued = await withAccounts(config, (service) => service.rotate(id, overlap));
  const end = new Date(Date.now() + overlap * 1000).toISOString();
  const ends = overlap === 0 ? 'has ended' : `ends at ${end}`;
  const describe = (where: string) => `Service account ${id} has a new token ${where}; the old one ${ends}.`;
  printToken(config, issued, describe);
}

export async function revokeAccount(id: string): Promise<void> {
  const config = readConfig();
  await withAccounts(config, (service) => service.revoke(id));
  printWritten(config, { id }, (where) => `Service account ${id} is revoked ${where}.`);
}

/** Prints the token as the last line, where scripts can read it. */
function printToken(
  config: Config,
  { account, token }: IssuedToken,
  describe: (where: string) => string,
): void {
  const use = 'Send its token as «Authorization: Basic TOKEN»; it is shown this once:';
  printWritten(config, { ...shownOf(account), token }, (where) => `${describe(where)} ${use}\n${token}`);
}

function shownOf({ limitedTo: _groups, revokedAt: _at, ...account }: ServiceAccountEntity): object {
  return account;
}

async function describeAccounts() {
  const accounts = await withAccounts(readConfig(), (service) => service.list());
  return accounts.map((account) => ({ ...account, expiresSoon: expiresSoon(account) }));
}

/** @param creates whether an embedded database is created if there is none */
function withAccounts<Result>(
  config: Config,
  work: (accounts: ServiceAccountsService) => Promise<Result>,
  creates?: boolean,
): Promise<Result> {
  return withDatabase(
    config,
    (dataSource) => work(new ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity))),
    { creates },
  );
}
