import { DataSource } from 'typeorm';
import type { SentStatement } from '../../src/database/statements/statement.js';
import { TestService } from '../support/servers/service.js';
import {
  BY_NODE_ID,
  CARRIED,
  collectStatements,
  explain,
  findScans,
  LISTS,
  rowsRead,
} from '../support/builders/explained-lists.js';
import { statementsOf } from '../support/builders/statements.js';

describe('on a hundred thousand users', () => {
  const service = TestService.forSuite({ compared: false, large: true });
  let authorization: string;
  let sent: Map<string, SentStatement>;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
    sent = await collectStatements(ask);
  });

  it('no statement of the read path scans a large table sequentially', async () => {
    const lookups = await statementsOf(async () => {
      for (const query of BY_NODE_ID) await service.query(query, { authorization });
    });
    expect(await findScans(service.app.get(DataSource), [...sent.values(), ...lookups])).toEqual([]);
    expect(lookups.length).toBeGreaterThanOrEqual(BY_NODE_ID.length);
    expect(sent.size).toBeGreaterThan(LISTS.length);
  });

  it('the rows of a page are aggregated in the order of their limit, without a sort', async () => {
    const pages = [...sent.values()].filter(({ text }) => text.includes('json_agg'));
    const plans = await plansOf(pages);
    expect(plans.filter((plan) => !/-> {2}Aggregate.*\n +-> {2}Limit/.test(plan))).toEqual([]);
    expect(plans.length).toBeGreaterThan(LISTS.length);
  });

  it('a page of carried columns is read from memberships only', async () => {
    const statements = await statementsOf(async () => {
      for (const [root, list, args, selection] of CARRIED)
        await ask(`{ ${root.replace('%', `${list}(first: 3 ${args}) { ${selection} }`)} }`);
    });
    const pages = statements.filter(({ text }) => text.includes('from effective_memberships m'));
    const plans = await plansOf(pages);
    // Besides the parent of the page, which is found by id.
    const joined = /Scan (?!using (?:users|groups)_id_unique ).*on (?:users|groups)\b(?! counted)/;
    expect(plans.filter((plan) => joined.test(plan))).toEqual([]);
    expect(plans.length).toBeGreaterThanOrEqual(CARRIED.length);
  });

  it.each(['first: 3', 'first: 3, kinds: [USER]'])(
    'a search (%s) for a name that one user in twenty has reads one page of them',
    async (args) => {
      const found = await statementsOf(async () => {
        const answer = await ask(`{ search(query: "anna", ${args}) { nodes { ... on User { name } } } }`);
        expect(answer.match(/Anna /g)).toHaveLength(3);
      });
      const [statement] = found.filter(({ text }) => text.includes('part_1'));
      const rows = await rowsRead(service.app.get(DataSource), statement);
      // One more row shows whether there is a next page.
      expect(Math.max(...rows)).toBe(4);
    },
  );

  it.each(['anna berd', 'be anna', 'person 77', 'qxander mia hol'])(
    'a search for the words %s limits the rows by each of them in one scan of an index',
    async (query) => {
      const found = await statementsOf(() => ask(`{ search(query: "${query}", first: 3) { totalCount } }`));
      const plans = await plansOf(found.filter(({ text }) => text.includes('search_text')));
      const conditions = [...plans.join('\n').matchAll(/_search .*\n +Index Cond: (.*)/g)];
      const limits = conditions.map(([, condition]) => condition?.match(/~~|@>/g)?.length);
      expect(limits.length).toBeGreaterThan(0);
      expect(Math.min(...limits.map(Number))).toBe(query.split(' ').length);
    },
  );

  /** One after the other: a request waits for a connection only for a limited time. */
  async function plansOf(statements: SentStatement[]): Promise<string[]> {
    const plans: string[] = [];
    for (const statement of statements) plans.push(await explain(service.app.get(DataSource), statement));
    return plans;
  }

  const ask = async (query: string) => JSON.stringify(await service.read(query, { authorization }));
});
