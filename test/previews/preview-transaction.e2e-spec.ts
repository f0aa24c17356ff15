import { Database } from '../../src/database/database.js';
import type { PreviewTransaction } from '../../src/database/statements/preview-transaction.js';
import { statement } from '../../src/database/statements/statement.js';
import { ServiceError } from '../../src/common/errors.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const NAMES = statement('select id, name from groups order by id');
const STORED = [
  ['club', 'Club'],
  ['team', 'Team'],
];

describe('a preview transaction', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(
      [{ id: 'anna' }],
      [
        { id: 'club', name: 'Club', members: ['anna'] },
        { id: 'team', name: 'Team', members: ['@club'] },
      ],
    ),
    environment: { DATABASE_TIMEOUT_SECONDS: '10' },
  });
  let database: Database;

  beforeAll(() => {
    database = service.app.get(Database);
  });

  const rename = (transaction: PreviewTransaction, id: string, name: string) =>
    transaction.query('update groups set name = $2 where id = $1', [id, name]);

  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'no error',
      (error: unknown) => (error instanceof ServiceError ? error.code : error),
    );

  it('sees its own changes, which are rolled back', async () => {
    const seen = await database.previewTransaction(async (transaction) => {
      await rename(transaction, 'club', 'Chess');
      const [row] = await transaction.query<{ id: string }[]>(
        `insert into nestings (outer_key, inner_key, role)
         select c.key, t.key, 1 from groups c, groups t where c.id = 'club' and t.id = 'team' returning 'nested' as id`,
      );
      return [await transaction.read(NAMES), row];
    });
    expect(seen).toEqual([[['club', 'Chess'], STORED[1]], { id: 'nested' }]);
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('throws the error of its function, and is rolled back', async () => {
    const failure = new Error('Something else');
    const failing = database.previewTransaction(async (transaction) => {
      await rename(transaction, 'club', 'Chess');
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('runs concurrent statements of its function', async () => {
    const answers = await database.previewTransaction((transaction) =>
      Promise.all(Array.from({ length: 50 }, () => transaction.read(NAMES))),
    );
    expect(answers).toEqual(Array.from({ length: 50 }, () => STORED));
  });

  it('returns to the savepoint after any failed change, and continues', async () => {
    const seen = await database.previewTransaction(async (transaction) => {
      await transaction.savepoint(() => rename(transaction, 'club', 'Chess'));
      const refused = transaction.savepoint(async () => {
        await rename(transaction, 'team', 'Go');
        throw new ServiceError('FORBIDDEN', 'Not this one');
      });
      const broken = transaction.savepoint(async () => {
        await rename(transaction, 'team', 'Go');
        await Promise.all([
          transaction.query('insert into nestings select * from nestings'),
          rename(transaction, 'team', 'Go'),
        ]);
      });
      const codes = [await codeOf(refused), String(await codeOf(broken))];
      await transaction.savepoint(async () => {
        await codeOf(transaction.savepoint(() => transaction.query('select 1 / 0')));
        await transaction.query(`update groups set description = 'Still here' where id = 'team'`);
      });
      const rows = await transaction.query('select name, description from groups order by id');
      return { codes, rows };
    });
    expect(seen).toEqual({
      codes: ['FORBIDDEN', expect.stringContaining('nestings_pk')],
      rows: [
        { name: 'Chess', description: null },
        { name: 'Team', description: 'Still here' },
      ],
    });
  });

  it('reports a failure to later statements until it is handled', async () => {
    const errors = await database.previewTransaction(async (transaction) => {
      const failed = await codeOf(transaction.query('select 1 / 0'));
      return [
        failed,
        await codeOf(transaction.read(NAMES)),
        await codeOf(transaction.savepoint(() => Promise.resolve())),
      ];
    });
    expect(new Set(errors).size).toBe(1);
    expect(String(errors[0])).toContain('division by zero');
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('rejects statements after its end', async () => {
    let kept: PreviewTransaction | undefined;
    await database.previewTransaction((transaction) => {
      kept = transaction;
      return Promise.resolve();
    });
    expect(await codeOf(kept?.read(NAMES) ?? Promise.resolve())).toBe('SERVICE_UNAVAILABLE');
  });

  it('ends after its timeout', async () => {
    const endless = database.previewTransaction(async (transaction) => {
      await rename(transaction, 'club', 'Chess');
      return new Promise(() => undefined);
    });
    expect(await codeOf(endless)).toBe('TIMEOUT');
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('runs beside many others, with reads in between', async () => {
    const previewPool = Array.from({ length: 40 }, (_, index) =>
      database.previewTransaction(async (transaction) => {
        await rename(transaction, index % 2 === 0 ? 'club' : 'team', `Name ${index}`);
        return transaction.query(`select name from groups where name = $1`, [`Name ${index}`]);
      }),
    );
    const reads = Array.from({ length: 40 }, () => database.read(NAMES));
    expect(await Promise.all(reads)).toEqual(reads.map(() => STORED));
    expect(await Promise.all(previewPool)).toEqual(
      previewPool.map((_, index) => [{ name: `Name ${index}` }]),
    );
  });
});
