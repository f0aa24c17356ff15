import { DataSource } from 'typeorm';
import type { Field } from '../../src/common/field.js';
import type { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { valueIndexesOf } from '../../src/database/fields/filters.js';
import { TestService } from '../support/servers/service.js';

function filtered(name: string, type: string, reader: Field['reader']): Field {
  const attributes = { attributes: [name], attribute: name };
  return { name, type, reader, description: name, column: null, isFilterable: true, ...attributes };
}

const ROOM = filtered('room', 'String', 'line');
const NUMBER = filtered('number', 'Int', 'integer');

interface Listed {
  readonly name: string;
  readonly definition: string;
  readonly key: string;
}

describe('the indexes for filters by custom fields', () => {
  const service = TestService.forSuite();
  const { signal } = new AbortController();

  const keep = (...fields: Field[]) => {
    const dataSource = service.app.get<DirectoryDataSource>(DataSource);
    const wanted = [...valueIndexesOf('users', fields), ...valueIndexesOf('groups', fields)];
    return dataSource.keepValueIndexes(wanted, signal);
  };

  const list = () =>
    service.app.get(DataSource).query<Listed[]>(
      `select c.relname as name, pg_get_indexdef(c.oid) as definition, c.oid::text as key
       from pg_class c join pg_index i on i.indexrelid = c.oid
       where c.relname like 'values\\_of\\_%' and i.indisvalid order by 2`,
    );

  it('are created, kept while they have the same definition, and dropped', async () => {
    expect(await list()).toEqual([]);
    await keep(ROOM, NUMBER);
    const first = await list();
    expect(first).toHaveLength(4);
    expect(first.filter(({ definition }) => definition.includes('number:Int'))).toHaveLength(2);
    await keep(ROOM, NUMBER);
    expect(await list()).toEqual(first);
    await keep(ROOM, filtered('number', 'Float', 'number'));
    const names = first.map(({ name }) => name);
    expect((await list()).filter(({ name }) => names.includes(name))).toHaveLength(2);
    await keep();
    expect(await list()).toEqual([]);
  });

  it('are created again where an interruption has left them invalid', async () => {
    await keep(ROOM);
    const [broken] = await list();
    await service.app
      .get(DataSource)
      .query('update pg_index set indisvalid = false where indexrelid = $1::oid', [broken?.key]);
    expect(await list()).toHaveLength(1);
    await keep(ROOM);
    const repaired = await list();
    expect(repaired).toHaveLength(2);
    expect(repaired.map(({ key }) => key)).not.toContain(broken?.key);
  });
});
