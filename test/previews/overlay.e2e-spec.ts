import { Database } from '../../src/database/database.js';
import type { Overlay } from '../../src/database/statements/preview-transaction.js';
import { statement } from '../../src/database/statements/statement.js';
import { ServiceError } from '../../src/common/errors.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const NAMES = statement('select id, name from groups order by id');
const STORED = [
  ['club', 'Club'],
  ['team', 'Team'],
];

describe('an overlay', () => {
  let service: TestService;
  let database: Database;

  beforeAll(async () => {
    service = await TestService.start({
      ldif: buildLdif(
        [{ id: 'anna' }],
        [
          { id: 'club', name: 'Club', members: ['anna'] },
          { id: 'team', name: 'Team', members: ['@club'] },
        ],
      ),
    });
    database = service.app.get(Database);
  });

  afterAll(() => service.stop());

  const rename = (overlay: Overlay, id: string, name: string) =>
    overlay.query('update groups set name = $2 where id = $1', [id, name]);

  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'no error',
      (error: unknown) => (error instanceof ServiceError ? error.code : error),
    );

  it('shows what was changed in it to itself, and nothing of it stays', async () => {
    const seen = await database.overlay(async (overlay) => {
      await rename(overlay, 'club', 'Chess');
      const [row] = await overlay.query<{ id: string }[]>(
        `insert into nestings (outer_key, inner_key, named_as, role)
         select c.key, t.key, 1, 1 from groups c, groups t where c.id = 'club' and t.id = 'team' returning 'nested' as id`,
      );
      return [await overlay.read(NAMES), row];
    });
    expect(seen).toEqual([[['club', 'Chess'], STORED[1]], { id: 'nested' }]);
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('gives what its work throws, and nothing of it stays', async () => {
    const failure = new Error('Something else');
    const failing = database.overlay(async (overlay) => {
      await rename(overlay, 'club', 'Chess');
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('answers those who ask side by side', async () => {
    const answers = await database.overlay((overlay) =>
      Promise.all(Array.from({ length: 50 }, () => overlay.read(NAMES))),
    );
    expect(answers).toEqual(Array.from({ length: 50 }, () => STORED));
  });

  it('goes back to before a change that fails, however it fails, and on from there', async () => {
    const seen = await database.overlay(async (overlay) => {
      await overlay.savepoint(() => rename(overlay, 'club', 'Chess'));
      const refused = overlay.savepoint(async () => {
        await rename(overlay, 'team', 'Go');
        throw new ServiceError('FORBIDDEN', 'Not this one');
      });
      const broken = overlay.savepoint(async () => {
        await rename(overlay, 'team', 'Go');
        await Promise.all([
          overlay.query('insert into nestings select * from nestings'),
          rename(overlay, 'team', 'Go'),
        ]);
      });
      const codes = [await codeOf(refused), String(await codeOf(broken))];
      await overlay.savepoint(async () => {
        await codeOf(overlay.savepoint(() => overlay.query('select 1 / 0')));
        await overlay.query(`update groups set description = 'Still here' where id = 'team'`);
      });
      const rows = await overlay.query('select name, description from groups order by id');
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

  it('tells whoever asks after a failure that nobody has mended what it was', async () => {
    const told = await database.overlay(async (overlay) => {
      const failed = await codeOf(overlay.query('select 1 / 0'));
      return [
        failed,
        await codeOf(overlay.read(NAMES)),
        await codeOf(overlay.savepoint(() => Promise.resolve())),
      ];
    });
    expect(new Set(told).size).toBe(1);
    expect(String(told[0])).toContain('division by zero');
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('answers nobody who comes when it has ended', async () => {
    let kept: Overlay | undefined;
    await database.overlay((overlay) => {
      kept = overlay;
      return Promise.resolve();
    });
    expect(await codeOf(kept?.read(NAMES) ?? Promise.resolve())).toBe('SERVICE_UNAVAILABLE');
  });

  it('ends after its time, whatever its work does', async () => {
    const endless = database.overlay(async (overlay) => {
      await rename(overlay, 'club', 'Chess');
      return new Promise(() => undefined);
    });
    expect(await codeOf(endless)).toBe('TIMEOUT');
    expect(await database.read(NAMES)).toEqual(STORED);
  });

  it('is one of many, between which others read', async () => {
    const overlays = Array.from({ length: 40 }, (_, index) =>
      database.overlay(async (overlay) => {
        await rename(overlay, index % 2 === 0 ? 'club' : 'team', `Name ${index}`);
        return overlay.query(`select name from groups where name = $1`, [`Name ${index}`]);
      }),
    );
    const reads = Array.from({ length: 40 }, () => database.read(NAMES));
    expect(await Promise.all(reads)).toEqual(reads.map(() => STORED));
    expect(await Promise.all(overlays)).toEqual(overlays.map((_, index) => [{ name: `Name ${index}` }]));
  });
});
