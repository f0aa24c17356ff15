import { DataSource } from 'typeorm';
import type { SentStatement } from '../../src/database/statements/statement.js';
import {
  collectStatements,
  explain,
  findScans,
  hideOnePercent,
  LISTS,
} from '../support/builders/explained-lists.js';
import { statementsOf } from '../support/builders/statements.js';
import { writeClients } from '../support/clients/clients.js';
import { TestService } from '../support/servers/service.js';

describe('on a hundred thousand people, of whom one of a hundred is hidden', () => {
  const service = TestService.forSuite(() => ({
    compared: false,
    large: true,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'viewer-app', owner: 'person.7' }]),
      LIMIT_TOKENS: '100000',
    },
  }));
  let authorization: string;
  let sent: Map<string, SentStatement>;

  beforeAll(async () => {
    await hideOnePercent(service.app);
    authorization = await service.accessToken('read directory', 'viewer-app');
    sent = await collectStatements(ask);
  });

  it('every list is read for its viewer', () => {
    const restricted = [...sent.values()].filter(({ text }) => text.startsWith('with viewer as'));
    expect(restricted.length).toBeGreaterThan(LISTS.length);
  });

  it('no statement of the read path scans a large table sequentially, except to sort groups by a count of the viewer', async () => {
    const isByCount = ({ text }: SentStatement) => /order by \(?-?g\.member_count/.test(text);
    const others = [...sent.values()].filter((statement) => !isByCount(statement));
    expect(await findScans(service.app.get(DataSource), others)).toEqual([]);
    expect(others.length).toBeGreaterThan(LISTS.length);
  });

  it('a page without a filter comes out of the order of an index', async () => {
    const query = `{ users(first: 20) { nodes { id } } }`;
    const [statement] = await statementsOf(() => ask(query));
    if (statement === undefined) throw new Error('There is no statement');
    const plan = await explain(service.app.get(DataSource), statement);
    expect(plan).toMatch(/Limit[^]*Index (?:Only )?Scan using users_by_name on users/);
    expect(plan).not.toContain('Sort');
  });

  it('the groups of an account and of an administrator are sets, and no row looks up each of them', async () => {
    const limited = await service.limitedAccount(['group-1', 'group-2'], 'read', 'directory');
    const nested =
      '{ groups(first: 9) { nodes { members(first: 9) { nodes { user { id groups(first: 1) { totalCount } } } } } } }';
    const sentFor = (reader: string) => statementsOf(() => service.query(nested, { authorization: reader }));
    const statements = [...(await sentFor(limited)), ...(await sentFor(authorization))];
    expect(statements.length).toBeGreaterThan(3);
    for (const statement of statements) {
      const plan = await explain(service.app.get(DataSource), statement);
      const perRow = plan
        .split('\n')
        .filter((line) => /Index Cond: .*group_key = ANY .*user_key =/.test(line));
      // Those of a viewer who administers few groups are looked up.
      expect(perRow.filter((line) => !/\bv(_\d+)?\.admin_of/.test(line))).toEqual([]);
    }
  });

  async function ask(query: string): Promise<string> {
    const { data, errors } = await service.query(query, { authorization });
    // Of the lists, only the members of some groups are hidden from the viewer.
    expect(errors.filter(({ extensions }) => extensions.code !== 'FORBIDDEN')).toEqual([]);
    return JSON.stringify(data);
  }
});
