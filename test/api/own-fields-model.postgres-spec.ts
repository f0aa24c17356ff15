import { mkdtempSync, writeFileSync } from 'node:fs';
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
});
