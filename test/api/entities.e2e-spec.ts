import { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { MIGRATIONS } from '../../src/database/migrations/migrations.js';
import { ENTITIES } from '../../src/entities.js';
import { readConfig } from '../../src/config/config.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

describe('the tables', () => {
  let database: TestDatabase;
  let dataSource: DirectoryDataSource;

  beforeAll(async () => {
    database = await createDatabase();
    const config = readConfig({ DATABASE_URL: database.url });
    dataSource = new DirectoryDataSource(config.database, ENTITIES);
    await dataSource.initialize();
  });

  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('match the entities', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  it('can be removed by reverting the migrations, and be created again', async () => {
    const before = await describeTables();
    for (let undone = 0; undone < MIGRATIONS.length; undone++) await dataSource.undoLastMigration();
    expect(await describeTables()).toEqual([]);
    await dataSource.runMigrations();
    expect(await describeTables()).toEqual(before);
  });

  /** Columns, constraints and indexes of all tables except TypeORM's table of migrations. */
  async function describeTables(): Promise<unknown[]> {
    return dataSource.query<unknown[]>(`
      with ours as (
        select oid, relname from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations')
      select relname, 'column' as kind, attname::text as name,
        concat(format_type(atttypid, atttypmod), ' ', attnotnull, ' ', attcollation::regcollation) as definition
      from ours join pg_attribute on attrelid = oid and attnum > 0
      union all
      select relname, 'constraint', conname, pg_get_constraintdef(c.oid) from ours o join pg_constraint c on conrelid = o.oid
      union all
      select relname, 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid) from ours join pg_index on indrelid = oid
      order by 1, 2, 3`);
  }
});
