import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'models-'));

/** Writes a model file with these fields of users. */
function modelOf(name: string, ...fields: string[]): string {
  const file = join(directory, `${name}.yaml`);
  writeFileSync(file, `users:\n  fields:\n${fields.map((field) => `    ${field}\n`).join('')}`);
  return file;
}

const PHONE = 'phone: {attribute: telephoneNumber, type: String, description: Phone number.,';
const FIRST = modelOf(
  'first',
  `${PHONE} filterable: true}`,
  'number: {attribute: employeeNumber, type: String, description: Number, filterable: true}',
);
const SECOND = modelOf(
  'second',
  `${PHONE} filterable: true, searchable: true}`,
  'number: {attribute: employeeNumber, type: Int, description: Number, filterable: true}',
  'manager: {attribute: manager, type: User, description: Manager, reverse: reports}',
);

const LDIF = `${buildLdif([{ id: 'anna' }, { id: 'ben' }])
  .split('\n\n')
  .map((record, index) =>
    index === 1
      ? `${record}\ntelephoneNumber: +41 44 7\nemployeeNumber: 007\nmanager: ${personDn('ben')}`
      : record.trimEnd(),
  )
  .join('\n\n')}\n`;

describe('own fields of a model file', () => {
  it('take effect at the next start, with values that are read again', async () => {
    const first = await TestService.start({ ldif: LDIF, environment: { DIRECTORY_MODEL: FIRST } });
    const before = await first.serviceAccount('read', 'directory');
    expect(
      await first.read('{ users(first: 5, filter: {number: {is: "007"}}) { nodes { id phone number } } }', {
        authorization: before,
      }),
    ).toEqual({ users: { nodes: [{ id: 'anna', phone: '+41 44 7', number: '007' }] } });

    const { database } = first.config;
    if (database.kind !== 'postgres') throw new Error('It is embedded');
    const environment = {
      DIRECTORY_MODEL: SECOND,
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${first.directoryFile}`,
    };
    // Both releases run side by side, until the first ends.
    const second = await TestService.start({ environment });
    const read = () =>
      second.read(
        '{ users(first: 5) { nodes { id phone number manager { id } reports(first: 1) { totalCount } } } }',
        {
          authorization: before,
        },
      );
    const ben = { id: 'ben', phone: null, number: null, manager: null };
    expect(await read()).toMatchObject({ users: { nodes: [{ phone: '+41 44 7', number: null }, ben] } });
    await first.app.close();
    const anna = { id: 'anna', phone: '+41 44 7', number: 7, manager: { id: 'ben' } };
    const none = { totalCount: 0 };
    await eventually(read, {
      users: {
        nodes: [
          { ...anna, reports: none },
          { ...ben, reports: { totalCount: 1 } },
        ],
      },
    });
    for (const filter of ['number: {min: 7}', 'search: "44 7"', 'phone: {startsWith: "+41"}']) {
      const found = await second.read(`{ users(first: 5, filter: {${filter}}) { nodes { id } } }`, {
        authorization: before,
      });
      expect(found).toEqual({ users: { nodes: [{ id: 'anna' }] } });
    }
    await second.stop();
  });

  it('do not show objects that rules hide, on either side of a reference', async () => {
    const file = modelOf(
      'hidden',
      'manager: {attribute: manager, type: User, description: Manager, reverse: reports}',
    );
    appendFileSync(
      file,
      'scopes:\n  confidential: Hidden people.\nvisibility:\n  bypass: confidential\n  users: [{where: (employeeType=hidden), to: self}]\n',
    );
    const managers: Record<string, string[]> = {
      anna: [`manager: ${personDn('ben')}`],
      cleo: [`manager: ${personDn('ben')}`, 'employeeType: hidden'],
      dan: [`manager: ${personDn('cleo')}`],
    };
    const [version = '', ...records] = buildLdif(['anna', 'ben', 'cleo', 'dan'].map((id) => ({ id }))).split(
      '\n\n',
    );
    const entries = records.map((record, index) =>
      [record.trimEnd(), ...(managers[['anna', 'ben', 'cleo', 'dan'][index] ?? ''] ?? [])].join('\n'),
    );
    const service = await TestService.start({
      ldif: `${[version, ...entries].join('\n\n')}\n`,
      environment: { DIRECTORY_MODEL: file },
    });
    const selection = 'nodes { id manager { id } reports(first: 5) { nodes { id } totalCount } } totalCount';
    const read = async (...scopes: string[]) =>
      service.read(`{ users(first: 9) { ${selection} } }`, {
        authorization: await service.serviceAccount('read', 'directory', ...(scopes as [])),
      });
    const reports = (...ids: string[]) => ({ nodes: ids.map((id) => ({ id })), totalCount: ids.length });
    expect(await read()).toEqual({
      users: {
        nodes: [
          { id: 'anna', manager: { id: 'ben' }, reports: reports() },
          { id: 'ben', manager: null, reports: reports('anna') },
          { id: 'dan', manager: null, reports: reports() },
        ],
        totalCount: 3,
      },
    });
    expect(await read('confidential')).toEqual({
      users: {
        nodes: [
          { id: 'anna', manager: { id: 'ben' }, reports: reports() },
          { id: 'ben', manager: null, reports: reports('anna', 'cleo') },
          { id: 'cleo', manager: { id: 'ben' }, reports: reports('dan') },
          { id: 'dan', manager: { id: 'cleo' }, reports: reports() },
        ],
        totalCount: 4,
      },
    });
    await service.stop();
  });
});
