/** @isolated It adds to the tables of fields. */
import { DataSource } from 'typeorm';
import { kindNumbered } from '../../src/common/change-kind.js';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { own } from '../support/builders/custom-fields.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const LDIF = buildLdif(['anna', 'ben'].map((id) => ({ id })));

const modify = (id: string, ...lines: string[]) =>
  [`dn: ${personDn(id)}`, 'changetype: modify', ...lines, ''].join('\n');

describe('custom fields of a server that is followed', () => {
  let directory: FollowedDirectory;
  let authorization: string;

  beforeAll(async () => {
    USER_FIELDS.push(
      own('phone', 'String', 'line', { attributes: ['telephoneNumber'], isFilterable: true }),
      own('staffNumber', 'Int', 'integer', {
        attributes: ['employeeNumber'],
        change: { label: 'staff number', by: 'administrator', isRemovable: true },
      }),
      own('manager', 'User', 'reference', { reference: { to: 'user', reverse: 'reports' } }),
    );
    directory = await FollowedDirectory.start({ ldif: LDIF });
    authorization = await directory.service.serviceAccount('read', 'directory');
  });

  afterAll(async () => {
    await directory.stop();
    USER_FIELDS.length -= 3;
  });

  /** The same request each time, so that cached responses are seen too. */
  const read = async (id: string) => {
    const { user } = await directory.service.read<{ user: unknown }>(
      `{ user(user: {id: "${id}"}) { phone staffNumber manager { id } reports(first: 5) { nodes { id } totalCount } } }`,
      { authorization },
    );
    return user;
  };
  const none = { phone: null, staffNumber: null, manager: null, reports: { nodes: [], totalCount: 0 } };

  it('are visible after a change as all others', async () => {
    expect(await read('anna')).toEqual(none);
    await directory.change(
      modify(
        'anna',
        'add: telephoneNumber',
        'telephoneNumber: +41 44 1',
        '-',
        'add: employeeNumber',
        'employeeNumber: 7',
      ),
    );
    await eventually(() => read('anna'), { ...none, phone: '+41 44 1', staffNumber: 7 });
    const filtered = await directory.service.read(
      '{ users(first: 5, filter: {phone: {startsWith: "+41 44"}}) { nodes { id } } }',
      { authorization },
    );
    expect(filtered).toEqual({ users: { nodes: [{ id: 'anna' }] } });
    await directory.change(modify('anna', 'replace: employeeNumber', 'employeeNumber: seven'));
    await eventually(() => read('anna'), { ...none, phone: '+41 44 1' });
  });

  it('are changed by the record of a preview', async () => {
    const writer = await directory.service.serviceAccount('read', 'directory', 'write');
    const { updateUser } = await directory.service.read<{ updateUser: { preview: { ldif: string } } }>(
      'mutation { updateUser(input: {user: {id: "ben"}, staffNumber: 12}) { preview { ldif } } }',
      { authorization: writer },
    );
    await directory.change(updateUser.preview.ldif);
    await eventually(() => read('ben'), { ...none, staffNumber: 12 });
    await directory.change(modify('ben', 'delete: employeeNumber'));
    await eventually(() => read('ben'), none);
  });

  it('refer to another entry at once, to a new one as soon as it exists, and to a deleted one no more', async () => {
    await directory.change(modify('ben', 'add: manager', `manager: ${personDn('anna')}`));
    const reports = { nodes: [{ id: 'ben' }], totalCount: 1 };
    await eventually(() => read('anna'), { ...none, phone: '+41 44 1', reports });
    await directory.change(modify('ben', 'replace: manager', `manager: ${personDn('cleo')}`));
    await eventually(() => read('anna'), { ...none, phone: '+41 44 1' });
    expect(await read('ben')).toEqual(none);
    const [, added = ''] = buildLdif([{ id: 'cleo' }]).split('version: 1\n\n');
    await directory.change(added.replace('\n', '\nchangetype: add\n'));
    await eventually(() => read('ben'), { ...none, manager: { id: 'cleo' } });
    expect(await read('cleo')).toEqual({ ...none, reports });
    await directory.change(`dn: ${personDn('cleo')}\nchangetype: delete\n`);
    await eventually(() => read('ben'), none);
  });

  it('are changes of those who refer, when the target appears, is renamed and vanishes', async () => {
    const dataSource = directory.service.app.get(DataSource);
    const last = async (count: number) => {
      const rows: { kind: number; id: string }[] = await dataSource.query(
        'select c.kind, c.user_id as id from changes c order by c.id desc limit $1',
        [count],
      );
      return rows.map(({ kind, id }) => `${kindNumbered(kind)} ${id}`).sort();
    };
    const [, added = ''] = buildLdif([{ id: 'dora' }]).split('version: 1\n\n');
    await directory.change(modify('ben', 'replace: manager', `manager: ${personDn('dora')}`));
    await eventually(() => last(1), ['USER_UPDATED ben']);
    await directory.change(added.replace('\n', '\nchangetype: add\n'));
    await eventually(() => last(2), ['USER_CREATED dora', 'USER_UPDATED ben']);
    await directory.change(
      `dn: ${personDn('dora')}\nchangetype: modrdn\nnewrdn: uid=dori\ndeleteoldrdn: 1\n`,
    );
    await eventually(() => last(2), ['USER_UPDATED ben', 'USER_UPDATED dori']);
    await directory.change(modify('ben', 'replace: manager', `manager: ${personDn('dori')}`));
    await eventually(() => last(2), ['USER_UPDATED ben', 'USER_UPDATED ben']);
    await directory.change(`dn: ${personDn('dori')}\nchangetype: delete\n`);
    await eventually(() => last(2), ['USER_DELETED dori', 'USER_UPDATED ben']);
    const [count]: unknown[] = await dataSource.query(
      'select change_count = (select count(*) from changes) as equal from mirror_state',
    );
    expect(count).toEqual({ equal: true });
  });
});
