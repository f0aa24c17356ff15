import { appendFileSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { runCommand } from '../support/clients/command.js';
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

describe('rules of visibility that a model file adds', () => {
  const warned = jest.spyOn(Logger.prototype, 'warn');
  const AWAITS = expect.stringMatching(/^The mirror was written with another model\. The rules /) as string;
  const RULES = join(directory, 'rules.yaml');
  writeFileSync(
    RULES,
    [
      'scopes: {confidential: Hidden people.}',
      'visibility: {bypass: confidential, users: [{where: (uid=anna), to: self}]}',
      '',
    ].join('\n'),
  );

  it('are reported until the directory has been read, and have an effect at once after a sync', async () => {
    const first = await TestService.start({ ldif: LDIF });
    const authorization = await first.serviceAccount('read', 'directory');
    const { directoryFile } = first;
    const { database } = first.config;
    if (database.kind !== 'postgres') throw new Error('It is embedded');
    const environment = {
      DIRECTORY_MODEL: RULES,
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${directoryFile}`,
    };
    const away = `${directoryFile}.away`;
    const idsOf = (service: TestService) =>
      service.read('{ users(first: 5) { nodes { id } } }', { authorization });
    const reasonOf = async (service: TestService) => {
      const confidant = await service.serviceAccount('read', 'directory', 'confidential');
      return service.read('{ directoryStatus { reason } }', { authorization: confidant });
    };
    await first.app.close();
    renameSync(directoryFile, away);
    const second = await TestService.start({ environment, confirmed: false });
    expect(await idsOf(second)).toEqual({ users: { nodes: [{ id: 'anna' }, { id: 'ben' }] } });
    expect(warned).toHaveBeenCalledWith(AWAITS);
    expect(await reasonOf(second)).toEqual({
      directoryStatus: {
        reason: expect.stringContaining('. The mirror was written with another model.') as string,
      },
    });
    await second.app.close();

    renameSync(away, directoryFile);
    const checked = await runCommand(['check'], environment);
    expect(checked.stdout).toContain('The mirror was written with another model.');
    const synchronized = await runCommand(['sync'], environment);
    expect([synchronized.code, synchronized.stderr]).toEqual([0, '']);
    renameSync(directoryFile, away);
    warned.mockClear();
    const third = await TestService.start({ environment, confirmed: false });
    expect(await idsOf(third)).toEqual({ users: { nodes: [{ id: 'ben' }] } });
    expect(warned).not.toHaveBeenCalledWith(AWAITS);
    await third.app.close();
    await first.stop();
  });
});
