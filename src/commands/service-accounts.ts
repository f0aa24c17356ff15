import { knownScopes } from '../auth/principal.js';
import { BadUserInputError, NotFoundError } from '../common/errors.js';
import { type Config, readConfig } from '../config/config.js';
import { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import {
  type AccountChanges,
  type DescribedAccount,
  type IssuedToken,
  ServiceAccountsService,
} from '../service-accounts/service-accounts.service.js';
import { linesOf, print, printTable, printWritten, withDatabase } from './context.js';

/** Days before its expiry from which an account is marked. */
export const NOTICE_DAYS = 14;

interface AboutOptions extends Omit<AccountChanges, 'expiresAt'> {
  allGroups?: true;
  expires?: Date | 'never';
  json?: true;
}

interface CreateOptions extends AboutOptions {
  id: string;
  name: string;
  scopes: string[];
  new?: true;
}

export async function createAccount({ id, new: creates, ...given }: CreateOptions): Promise<void> {
  const config = readConfig();
  if (config.production) requireAnswerable(given);
  const { name, scopes } = given;
  const account = { description: null, expiresAt: null, name, scopes, ...changesOf(given, config) };
  const work = (service: ServiceAccountsService) => service.create({ ...account, id });
  const issued = await withAccounts(config, work, creates);
  printToken(config, issued, `Service account ${id} is created.`);
}

export async function updateAccount(id: string, given: AboutOptions): Promise<void> {
  const config = readConfig();
  const changes = changesOf(given, config);
  if (Object.keys(changes).length === 0)
    throw new BadUserInputError('Nothing would change: give an option (--help lists them)', 'id');
  const account = await withAccounts(config, (service) => service.update(id, changes));
  printWritten(config, shownOf(account), `Service account ${id} is changed.`);
}

/** What the options change. @throws BadUserInputError if a scope is unknown */
function changesOf({ allGroups, expires, json: _, ...others }: AboutOptions, { scopes }: Config) {
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
  const reason = 'in production, an account has a contact, and a purpose for which it reads data';
  throw new BadUserInputError(`--${first} is needed: ${reason}`, first);
}

/** Whether an account expires within fourteen days, or has expired. */
export function expiresSoon({ expiresAt }: Pick<DescribedAccount, 'expiresAt'>): boolean {
  return expiresAt !== null && expiresAt.getTime() - Date.now() < NOTICE_DAYS * 86_400_000;
}

export async function listAccounts(): Promise<void> {
  const end = ({ expiresAt }: DescribedAccount) => expiresAt?.getTime() ?? Number.MAX_VALUE;
  const accounts = (await describeAccounts()).sort((left, right) => end(left) - end(right));
  const columns = ['id', 'expiresAt', 'lastUsedAt', 'scopes', 'groups', 'name', 'contact'] as const;
  printTable(accounts, accounts.map(withAllGroups), columns, 'There is no service account.');
}

/** No limit reads as if the account saw no group. */
function withAllGroups<Account extends DescribedAccount>(account: Account) {
  return { ...account, groups: account.groups ?? ['all'] };
}

export async function showAccount(id: string): Promise<void> {
  const account = (await describeAccounts()).find((each) => each.id === id);
  if (account === undefined) throw new NotFoundError(`There is no service account «${id}»`, 'id');
  print(account, linesOf(Object.entries(withAllGroups(account))).join('\n'));
}

export async function rotateToken(id: string, { overlap }: { overlap: number }): Promise<void> {
  const config = readConfig();
  const issued = await withAccounts(config, (service) => service.rotate(id, overlap));
  const end = new Date(Date.now() + overlap * 1000).toISOString();
  const ends = overlap === 0 ? 'has ended' : `ends at ${end}`;
  printToken(config, issued, `Service account ${id} has a new token; the old one ${ends}.`);
}

export async function revokeAccount(id: string): Promise<void> {
  const config = readConfig();
  await withAccounts(config, (service) => service.revoke(id));
  printWritten(config, { id }, `Service account ${id} is revoked.`);
}

/** Prints the token as the last line, where scripts can read it. */
function printToken(config: Config, { account, token }: IssuedToken, text: string): void {
  const use = 'Send its token as «Authorization: Basic TOKEN»; it is shown this once:';
  printWritten(config, { ...shownOf(account), token }, `${text} ${use}\n${token}`);
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
