import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { documentedRecords } from '../ldap/behaviors/documented-records.js';
import { groupDn, personDn } from '../support/builders/directory.js';
import { readIds, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readStatus } from '../support/clients/mirror.js';
import { eventually } from '../support/eventually.js';
import type { TestDirectory389 } from '../support/servers/directory-389.js';
import { Replicated389 } from '../support/servers/replicated-389.js';
import { TestService } from '../support/servers/service.js';
import { SUFFIX } from '../support/servers/slapd.mjs';
import { variable } from '../support/servers/store.js';

const add = (dn: string, ...lines: string[]) => `dn: ${dn}\nchangetype: add\n${lines.join('\n')}\n`;
const person = (id: string) => add(personDn(id), 'objectClass: inetOrgPerson', `cn: ${id}`, `sn: ${id}`);
const remove = (id: string) => `dn: ${personDn(id)}\nchangetype: delete\n`;
const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
const joinClub = (id: string) =>
  `dn: ${groupDn('club')}\nchangetype: modify\nadd: member\nmember: ${personDn(id)}\n`;

/** The account of the mirror. */
const [ACCOUNT = ''] = documentedRecords('389 Directory Server').split(/^(?=dn: cn=mapping tree)/m);
const CONTENT = [
  ...['people', 'groups'].map((name) => add(`ou=${name},${SUFFIX}`, 'objectClass: organizationalUnit')),
  ACCOUNT,
  ...['anna', 'ben', 'cleo'].map(person),
  add(groupDn('club'), 'objectClass: groupOfNames', `member: ${personDn('anna')}`),
].join('\n');

/** The account does not see the numbers of the server to which this is applied: the root DSE is not replicated. */
const HIDES_NUMBERS = `dn:
changetype: modify
add: aci
aci: (targetattr="lastusn*")(version 3.0; acl "no numbers"; deny (all) userdn="ldap:///cn=mirror,${SUFFIX}";)
`;

describe('two replicated servers of 389 Directory Server, of which only the first one shows the numbers of its changes', () => {
  let replicated: Replicated389;
  let first: TestDirectory389;
  let second: TestDirectory389;
  let service: TestService;
  let environment: Environment;

  async function change(server: TestDirectory389, ...records: string[]): Promise<void> {
    const { code, stderr } = await server.modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  }

  async function check(): Promise<string[]> {
    const { directory } = readConfig(environment);
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    return findings.flatMap(({ what, text }) => (what === 'directory servers' ? [text ?? ''] : []));
  }

  beforeAll(async () => {
    replicated = await Replicated389.start(CONTENT);
    [first, second] = replicated.servers;
    const authorities = join(variable('TEST_WORK_DIRECTORY'), 'replicas-389-ca.pem');
    writeFileSync(authorities, Buffer.concat([first.ca, second.ca]));
    environment = {
      DIRECTORY_URL: `ldaps://127.0.0.1:${first.tlsPort} ldaps://127.0.0.1:${second.tlsPort}`,
      DIRECTORY_CA_FILE: authorities,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: `cn=mirror,${SUFFIX}`,
      DIRECTORY_BIND_PASSWORD: 'mirror-secret',
      // The second one is polled.
      DIRECTORY_SYNC_SECONDS: '1',
      // The guard does not hold what a server lacks.
      DIRECTORY_GUARD_PERCENT: '100',
      ...modelSetting('server: 389ds'),
    };
  });

  afterAll(async () => {
    await service.stop();
    await replicated.remove();
  });

  it('are compared by a check, which says that it is not known whether they lag', async () => {
    const [same, ...hidden] = await check();
    expect(same).toContain('has the same 4 users and groups');
    expect(hidden).toHaveLength(2);
    expect(hidden[0]).toContain('it is not known whether it lags');
    await change(second, HIDES_NUMBERS);
    service = await TestService.start({ environment });
    expect(await readIds(service)).toEqual(['anna', 'ben', 'cleo']);
    expect(await readStatus(service)).toMatchObject({ mode: 'COUNTED' });
  });

  it('are followed one after the other: the mirror equals the one in use', async () => {
    await replicated.send(false);
    await change(first, person('dora'), joinClub('dora'), remove('cleo'), rename('anna', 'Anna Berg'));
    await eventually(async () => (await readNames(service))['anna'], 'Anna Berg');
    await eventually(() => readMembers(service, 'club'), ['anna MEMBER', 'dora MEMBER']);
    await eventually(() => readIds(service), ['anna', 'ben', 'dora']);
    await first.stop();
    await eventually(() => readIds(service), ['anna', 'ben', 'cleo']);
    await first.start();
    await replicated.send(true);
    await replicated.converge();
    await first.stop();
    await change(second, person('emil'), rename('anna', 'Anna'));
    await eventually(() => readIds(service), ['anna', 'ben', 'dora', 'emil']);
    await eventually(async () => (await readNames(service))['anna'], 'Anna');
    await eventually(async () => (await readStatus(service)).state, 'IDLE');
    expect(await readStatus(service)).toMatchObject({ mode: 'POLLED' });
  });

  it('follow each other, when the next one has the changes of the polled one', async () => {
    await first.start();
    await replicated.converge();
    await change(first, person('fred'), rename('ben', 'Ben Berg'));
    await replicated.converge();
    await second.stop('SIGKILL');
    await eventually(async () => (await readNames(service))['ben'], 'Ben Berg');
    await eventually(() => readIds(service), ['anna', 'ben', 'dora', 'emil', 'fred']);
    await eventually(async () => (await readStatus(service)).state, 'IDLE');
  });
});
