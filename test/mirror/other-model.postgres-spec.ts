import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand } from '../support/clients/command.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { TestService } from '../support/servers/service.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const MODEL = `
users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone number.}
visibility:
  users: [{where: (telephoneNumber=0), to: groupAdmins}]
`;

const ldifWith = (phone: string) =>
  buildLdif([
    { id: 'anna', phone },
    { id: 'ben', phone: '0' },
  ]);

describe.each(['a directory server that pushes changes', 'a file'])('with %s', (kind) => {
  let slapd: TestSlapd;
  let database: TestDatabase;
  let service: TestService;
  let directory: Environment;
  let file: string;
  let authorization: string;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: ldifWith('41'), syncprov: true });
    database = await createDatabase();
    file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'other-model-')), 'directory.ldif');
    writeFileSync(file, ldifWith('41'));
    directory = {
      ...(kind === 'a file' ? { DIRECTORY_URL: `file:${file}` } : directorySettings(slapd)),
      DATABASE_URL: database.url,
      // Nothing else reads the directory during the test.
      DIRECTORY_SYNC_SECONDS: '86400',
    };
    service = await TestService.start({ environment: { ...directory, ...modelSetting(MODEL) } });
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterAll(async () => {
    await service.stop();
    await database.drop();
    await slapd.remove();
  });

  async function read(): Promise<unknown> {
    const text = '{ users(first: 5) { nodes { id phone } } }';
    const { data, errors } = await service.query(text, { authorization });
    return errors[0]?.extensions.code ?? data;
  }

  it('does not show whom the rules hide, also if the directory changes at once', async () => {
    const seen = new Set<string>();
    const readAll = async () => {
      const value = await read();
      seen.add(JSON.stringify(value));
      return value;
    };
    const { code } = await runCommand(['sync'], directory);
    expect(code).toBe(0);
    await changePhone('42');
    await eventually(readAll, { users: { nodes: [{ id: 'anna', phone: '42' }] } });
    // What was read with the other model would stay.
    await changePhone('43');
    await eventually(readAll, { users: { nodes: [{ id: 'anna', phone: '43' }] } });
    expect([...seen].filter((text) => text.includes('ben'))).toEqual([]);
  });

  async function changePhone(phone: string): Promise<void> {
    if (kind === 'a file') writeFileSync(file, ldifWith(phone));
    else {
      const change = `dn: ${personDn('anna')}\nchangetype: modify\nreplace: telephoneNumber\ntelephoneNumber: ${phone}\n`;
      expect(await slapd.modify(change)).toMatchObject({ code: 0 });
    }
  }
});
