import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif, personDn } from './support/directory.js';
import { eventually } from './support/eventually.js';
import { FollowedDirectory } from './support/ldap.js';
import { readNames, readPeople } from './support/ldap-mirror.js';
import { readStatus } from './support/mirror.js';

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

describe('a server that is put back to an earlier state', () => {
  it('is followed back, and on from there', async () => {
    const ldif = buildLdif(['anna', 'ben', 'cleo'].map((id) => ({ id })));
    const directory = await FollowedDirectory.start({ ldif });
    try {
      const { service, slapd } = directory;
      const names = () => readNames(service);
      const data = join(slapd.directory, 'data');
      await directory.change(rename('anna', 'Anna'));
      await eventually(names, { anna: 'Anna', ben: 'ben', cleo: 'cleo' });
      const before = await readPeople(service);
      await slapd.stop();
      cpSync(data, `${data}.before`, { recursive: true });
      await slapd.start();

      await directory.change(rename('ben', 'Ben'), `dn: ${personDn('cleo')}\nchangetype: delete\n`);
      await eventually(names, { anna: 'Anna', ben: 'Ben' });
      await slapd.stop();
      rmSync(data, { recursive: true });
      cpSync(`${data}.before`, data, { recursive: true });
      await slapd.start();
      await eventually(names, { anna: 'Anna', ben: 'ben', cleo: 'cleo' });
      expect(Object.keys(await readPeople(service))).toEqual(Object.keys(before));

      await directory.change(rename('cleo', 'Cleo'));
      await eventually(names, { anna: 'Anna', ben: 'ben', cleo: 'Cleo' });
      expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
    } finally {
      await directory.stop();
    }
  });
});
