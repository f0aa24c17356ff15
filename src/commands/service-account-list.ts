import type { DescribedAccount } from '../service-accounts/service-accounts.service.js';
import { printable } from '../common/printable.js';
import { cut } from './help.js';

const DAY = 86_400_000;
/** Days before its expiry from which an account is marked. */
const NOTICE_DAYS = 14;
/** Maximum characters of an id in a line. The table defines the format of ids. */
const MOST_OF_ID = 24;

type Ending = Pick<DescribedAccount, 'expiresAt'>;
export type ListedAccount = Omit<DescribedAccount, 'createdAt'>;

/** Returns whether an account expires within fourteen days, or has expired (pure). */
export function expiresSoon({ expiresAt }: Ending, now: Date): boolean {
  return expiresAt !== null && expiresAt.getTime() - now.getTime() < NOTICE_DAYS * DAY;
}

/** Sorts accounts by expiry; those without an expiry follow, by id (pure). */
export function sortByEnd<Account extends Ending & { readonly id: string }>(
  accounts: readonly Account[],
): Account[] {
  const end = ({ expiresAt }: Account) => expiresAt?.getTime() ?? Infinity;
  return [...accounts].sort((left, right) => {
    if (end(left) !== end(right)) return end(left) - end(right);
    return left.id < right.id ? -1 : 1;
  });
}

/** Formats accounts with two lines each, of at most `columns` characters: columns to compare, and free text (pure). */
export function describeAccounts(accounts: readonly ListedAccount[], now: Date, columns: number): string[] {
  if (accounts.length === 0) return ['There is no service account.'];
  const rows = [
    ['ID', 'LAST USED', 'ENDS', 'TOKENS', 'SCOPES'],
    ...sortByEnd(accounts).map((account) => [
      cut(account.id, MOST_OF_ID),
      describeUse(account.lastUsedAt, now),
      describeEnd(account.expiresAt, now),
      String(account.tokens),
      account.scopes.join(' '),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  const [head = '', ...firsts] = lines;
  return [
    `  ${head}`,
    ...sortByEnd(accounts).flatMap((account, index) => [
      `${expiresSoon(account, now) ? '!' : ' '} ${firsts[index] ?? ''}`,
      `      ${describeAbout(account)}`,
    ]),
  ].map((line) => cut(line.trimEnd(), columns));
}

/** Returns the warning about accounts that expire soon. Null: there are none (pure). */
export function warnOfEnds(
  accounts: readonly (Ending & { readonly id: string })[],
  now: Date,
): string | null {
  const ids = sortByEnd(accounts)
    .filter((account) => expiresSoon(account, now))
    .map(({ id }) => id);
  if (ids.length === 0) return null;
  const verb = ids.length === 1 ? 'ends' : 'end';
  return `! ${ids.join(', ')} ${verb} within ${NOTICE_DAYS} days. To extend: ./directory service-account update ID --expires 90d`;
}

function describeAbout({ name, contact, purpose, groups }: ListedAccount): string {
  const limit = groups ? [`only ${groups.join(', ')}`] : [];
  return [name, ...limit, contact ?? 'no contact', purpose ?? 'no purpose'].map(printable).join(' · ');
}

function describeUse(at: Date | null, now: Date): string {
  if (at === null) return 'never';
  const days = Math.floor((now.getTime() - at.getTime()) / DAY);
  return days < 1 ? 'within a day' : `${days} ${days === 1 ? 'day' : 'days'} ago`;
}

function describeEnd(at: Date | null, now: Date): string {
  if (at === null) return 'never';
  const left = at.getTime() - now.getTime();
  if (left <= 0) return 'has ended';
  const days = Math.ceil(left / DAY);
  if (left < NOTICE_DAYS * DAY) return days === 1 ? 'within a day' : `within ${days} days`;
  return at.toISOString().slice(0, 10);
}
