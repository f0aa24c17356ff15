import { describeAccounts, type ListedAccount, sortByEnd, warnOfEnds } from './service-account-list.js';

const NOW = new Date('2030-01-15T12:00:00Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * 86_400_000);

function account(id: string, ends: number | null, more: Partial<ListedAccount> = {}): ListedAccount {
  return {
    id,
    name: `The ${id}`,
    description: null,
    contact: 'it@example.org',
    purpose: 'Year books',
    scopes: ['read', 'directory'],
    groups: null,
    tokens: 1,
    expiresAt: ends === null ? null : inDays(ends),
    lastUsedAt: null,
    ...more,
  };
}

const ACCOUNTS = [
  account('archive', null, { lastUsedAt: inDays(-3), contact: null, purpose: null }),
  account('kiosk', 13.5, { lastUsedAt: inDays(-0.5), tokens: 2 }),
  account('library', 14),
  account('reports', -1, { lastUsedAt: inDays(-1) }),
];

describe('service accounts', () => {
  it('are sorted by expiry, then by id', () => {
    const more = [account('zebra', null), ...ACCOUNTS];
    expect(sortByEnd(more).map(({ id }) => id)).toEqual(['reports', 'kiosk', 'library', 'archive', 'zebra']);
  });

  it('are listed in a table that marks those that expire within fourteen days', () => {
    expect(describeAccounts(ACCOUNTS, NOW, 80)).toEqual([
      '  ID       LAST USED     ENDS            TOKENS  SCOPES',
      '! reports  1 day ago     has ended       1       read directory',
      '      The reports · it@example.org · Year books',
      '! kiosk    within a day  within 14 days  2       read directory',
      '      The kiosk · it@example.org · Year books',
      '  library  never         2030-01-29      1       read directory',
      '      The library · it@example.org · Year books',
      '  archive  3 days ago    never           1       read directory',
      '      The archive · no contact · no purpose',
    ]);
  });

  it('fit into eighty columns for any name, and escape control characters', () => {
    const long = account('x'.repeat(64), null, {
      name: '\u001b[31m'.repeat(40),
      scopes: ['profile', 'read', 'directory', 'write'],
    });
    const lines = describeAccounts([long], NOW, 80);
    expect(lines.filter((line) => [...line].length > 80)).toEqual([]);
    expect(lines.join('')).not.toContain('\u001b');
  });

  it('cause a warning only if some expire soon', () => {
    expect(warnOfEnds(ACCOUNTS.slice(2, 3), NOW)).toBeNull();
    expect(warnOfEnds(ACCOUNTS, NOW)).toMatch(/^! reports, kiosk end within 14 days\. To extend: /);
  });
});
