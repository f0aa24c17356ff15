/** @isolated It adds to the tables of fields. */
import { DataSource } from 'typeorm';
import { GROUP_FIELDS } from '../../src/groups/group.fields.js';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { explain, findScans, hideOnePercent } from '../support/builders/explained-lists.js';
import { withoutIndexes } from '../support/builders/large-directory.mjs';
import { own, CUSTOM_FIELDS_OF_GROUPS, CUSTOM_FIELDS_OF_USERS } from '../support/builders/custom-fields.js';
import { statementsOf } from '../support/builders/statements.js';
import { writeClients } from '../support/clients/clients.js';
import { TestService } from '../support/servers/service.js';

const FILTERS = [
  'phone: {is: "+41 7"}',
  'phone: {in: ["+41 7", "+41 8"]}',
  'phone: {startsWith: "+41 77"}',
  'staffNumber: {is: 7}',
  'staffNumber: {in: [7, 8]}',
  'staffNumber: {min: 7, max: 9}',
  'hours: {min: 49.5}',
  'isExternal: {is: true}',
  'endsAt: {since: "2030-01-01T00:00:00Z"}',
  'locker: {is: "L 7"}',
  'locker: {startsWith: "l 7"}, staffNumber: {max: 1000}',
];

const PAGE = 'nodes { id phone locker } totalCount pageInfo { hasNextPage hasPreviousPage }';
const MEMBERS = 'nodes { user { id phone locker } } totalCount pageInfo { hasNextPage hasPreviousPage }';

const VALUES = `jsonb_build_object('phone', '+41 ' || key, 'phone phone', '+41' || key, 'staffNumber:Int', key,
  'hours:Float', key % 50, 'isExternal', key % 2 = 0, 'locker', 'L ' || key, 'locker caseIgnore', 'l ' || key,
  'endsAt', to_char(timestamp '2024-01-01' + key * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

const REFERENCES = [
  own('manager', 'User', 'reference', { reference: { to: 'user', reverse: 'reports' } }),
  own('department', 'Group', 'reference', { reference: { to: 'group', reverse: 'staff' } }),
];

/** A manager for a hundred people, and a department for everyone. */
const REFERRED = `
  insert into "references" (field, from_key, target, named_as, from_sort_name)
  select 'manager:User', u.key, m.dn_key, 0, u.sort_name from users u join entries m on m.key = 1 + u.key / 100
  union all
  select 'department:Group', u.key, e.dn_key, 0, u.sort_name
  from users u join groups g on g.id = 'group-7' join entries e on e.key = g.key`;

describe('filters by custom fields and references, on a hundred thousand people', () => {
  let service: TestService;
  let dataSource: DataSource;
  let authorization: string;

  beforeAll(async () => {
    USER_FIELDS.push(...CUSTOM_FIELDS_OF_USERS, ...REFERENCES);
    GROUP_FIELDS.push(...CUSTOM_FIELDS_OF_GROUPS);
    service = await TestService.start({
      compared: false,
      large: true,
      environment: {
        AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'viewer-app', owner: 'person.7' }]),
        LIMIT_TOKENS: '100000',
      },
    });
    dataSource = service.app.get(DataSource);
    authorization = await service.serviceAccount('read', 'directory', 'write');
    const runner = dataSource.createQueryRunner();
    await runner.query('set statement_timeout = 0');
    await runner.query('set session_replication_role = replica');
    await withoutIndexes(
      (text) => runner.query(text),
      ['users', 'references'],
      async () => {
        await runner.query(`update users set field_values = ${VALUES}`);
        await runner.query(REFERRED);
      },
    );
    await runner.query(`update groups set field_values = jsonb_build_object('room:Int', key)`);
    await runner.query('vacuum analyze users, groups, "references"');
    await runner.release();
  });

  afterAll(() => service.stop());

  it('read no large table from one end to the other', async () => {
    expect(await findScans(dataSource, await sendEach())).toEqual([]);
  });

  it('read a page of those who refer along an index, and no more', async () => {
    const [page] = await statementsOf(() =>
      sendRequest('{ group(group: {id: "group-7"}) { staff(first: 3) { nodes { id name } } } }'),
    ).then((sent) => sent.filter(({ text }) => text.includes('"references"')));
    if (page === undefined) throw new Error('No statement reads references');
    const plan = await explain(dataSource, page);
    expect(plan).not.toContain('Sort');
    expect(plan).toContain('references_by_target');
    const { group } = (await sendRequest(
      '{ group(group: {id: "group-7"}) { staff(first: 1) { totalCount } } }',
    )) as {
      group: { staff: { totalCount: number } };
    };
    expect(group.staff.totalCount).toBe(100_000);
  });

  it('find what they select, in the order of the list', async () => {
    expect(
      await sendRequest('{ users(first: 2, filter: {staffNumber: {min: 7, max: 9}}) { totalCount } }'),
    ).toEqual({
      users: { totalCount: 3 },
    });
    expect(
      await sendRequest('{ users(first: 2, filter: {phone: {startsWith: "+41 99999"}}) { totalCount } }'),
    ).toEqual({
      users: { totalCount: 1 },
    });
  });

  it('read no large table from one end to the other for a viewer from whom one of a hundred people is hidden', async () => {
    await hideOnePercent(service.app);
    authorization = await service.accessToken('read directory write', 'viewer-app');
    const sent = [...(await sendEach())];
    const restricted = sent.filter(({ text }) => text.startsWith('with viewer as'));
    expect(restricted.length).toBeGreaterThan(FILTERS.length);
    expect(await findScans(dataSource, sent)).toEqual([]);
  });

  /** Sends each filter, and each list of those who refer, and returns the statements. */
  async function sendEach() {
    const sent = await statementsOf(async () => {
      for (const filter of FILTERS) {
        await sendRequest(`{ users(first: 3, filter: {${filter}}) { ${PAGE} } }`);
        await sendRequest(`{ users(last: 3, filter: {${filter}, memberOf: {id: "group-7"}}) { ${PAGE} } }`);
        await sendRequest(
          `{ group(group: {id: "group-7"}) { members(first: 3, filter: {${filter}}) { ${MEMBERS} } } }`,
        );
      }
      for (const list of ['first: 3', 'last: 3', 'first: 3, filter: {search: "qxander"}']) {
        await sendRequest(`{ user(user: {id: "person.7"}) { manager { id } reports(${list}) { ${PAGE} } } }`);
        await sendRequest(
          `{ users(first: 3) { nodes { manager { id } department { id } reports(${list}) { ${PAGE} } } } }`,
        );
        await sendRequest(
          `{ group(group: {id: "group-7"}) { staff(${list}) { nodes { id } pageInfo { hasNextPage } } } }`,
        );
      }
      await sendRequest(
        `{ groups(first: 3, filter: {room: {min: 7}}) { nodes { id room budget } totalCount } }`,
      );
    });
    expect(sent.length).toBeGreaterThan(FILTERS.length * 4);
    return new Map(sent.map((each) => [each.name, each])).values();
  }

  const sendRequest = (query: string) => service.read(query, { authorization, mostTimeouts: 2 });
});
