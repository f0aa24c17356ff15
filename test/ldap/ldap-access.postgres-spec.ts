import { createApp } from '../../src/create-app.js';
import { MirrorFollowing } from '../../src/mirror/following.js';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { BASE_DN, buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { readIds, readMembers } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { MIRROR_DN } from '../support/servers/slapd.mjs';

const PEOPLE = ['anna', 'ben', 'cleo', 'dan'].map((id) => ({ id }));
const GROUPS = [{ id: 'club', members: ['anna', 'ben'] }];
const READ = `by dn.exact="${MIRROR_DN}" read by * none`;
const AUTH = 'access to attrs=userPassword by anonymous auth by * none';

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
const add = (id: string) =>
  `dn: ${personDn(id)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`;

describe.each([
  ['entryUUID', [`access to attrs=entryUUID by * none`]],
  ['entryUUID and modifyTimestamp', ['access to attrs=entryUUID,modifyTimestamp by * none']],
  ['entryCSN and contextCSN', ['access to attrs=entryCSN,contextCSN by * none']],
])('an account from which the server hides %s', (_, hiding) => {
  let directory: FollowedDirectory;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({
      ldif: buildLdif(PEOPLE, GROUPS),
      acl: [AUTH, ...hiding, `access to * ${READ}`],
    });
  });

  afterAll(() => directory.stop());

  it('has a mirror nevertheless, which follows changes', async () => {
    expect(await readIds(directory.service)).toEqual(['anna', 'ben', 'cleo', 'dan']);
    await directory.change(
      rename('anna', 'Anna Berg'),
      add('eva'),
      `dn: ${personDn('dan')}\nchangetype: delete\n`,
    );
    await eventually(() => readIds(directory.service), ['anna', 'ben', 'cleo', 'eva']);
    await directory.change(
      `dn: ${groupDn('club')}\nchangetype: modify\nadd: owner\nowner: ${personDn('eva')}\n`,
    );
    await eventually(
      () => readMembers(directory.service, 'club'),
      ['anna MEMBER', 'ben MEMBER', 'eva OWNER'],
    );
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });
});

describe('a server that pushes changes of another database only', () => {
  it('is polled', async () => {
    const acl = [AUTH, `access to * ${READ}`, 'moduleload syncprov'];
    const directory = await FollowedDirectory.start({
      ldif: buildLdif(PEOPLE, GROUPS),
      syncprov: false,
      acl,
    });
    try {
      await directory.change(add('eva'));
      await eventually(() => readIds(directory.service), ['anna', 'ben', 'cleo', 'dan', 'eva']);
      expect((await readStatus(directory.service)).mode).toBe('POLLED');
    } finally {
      await directory.stop();
    }
  });
});

describe('a base below the suffix of the server', () => {
  const school = `ou=school,${BASE_DN}`;
  const archive = `ou=archive,${BASE_DN}`;
  const unit = (dn: string) => `dn: ${dn}\nobjectClass: organizationalUnit\n`;
  const person = (id: string, above: string) =>
    `dn: uid=${id},${above}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`;
  const move = (from: string, to: string) =>
    `dn: ou=class,${from}\nchangetype: moddn\nnewrdn: ou=class\ndeleteoldrdn: 1\nnewsuperior: ${to}\n`;
  const ldif = [
    ...[school, `ou=people,${school}`, `ou=groups,${school}`, archive, `ou=class,${archive}`].map(unit),
    person('anna', `ou=people,${school}`),
    person('dora', `ou=class,${archive}`),
  ].join('\n');

  it('shows users who move into it, and removes them when they leave', async () => {
    const directory = await FollowedDirectory.start({ ldif }, { DIRECTORY_BASE_DN: school });
    try {
      expect(await readIds(directory.service)).toEqual(['anna']);
      await directory.change(move(archive, `ou=people,${school}`));
      await eventually(() => readIds(directory.service), ['anna', 'dora']);
      await directory.change(move(`ou=people,${school}`, archive));
      await eventually(() => readIds(directory.service), ['anna']);
    } finally {
      await directory.stop();
    }
  });
});

describe('a service that is started while a plan is held', () => {
  it('still holds it, and continues when the server shows everything again', async () => {
    const everything = [AUTH, `access to * ${READ}`];
    const acl = [AUTH, `access to dn.children="ou=people,${BASE_DN}" by * none`, `access to * ${READ}`];
    const directory = await FollowedDirectory.start({ ldif: buildLdif(PEOPLE, GROUPS), acl: everything });
    try {
      const { service, slapd } = directory;
      await slapd.restart({ acl });
      await eventually(async () => (await readStatus(service)).state, 'BLOCKED');
      await service.app.close();

      const app = await createApp(service.config);
      await app.init();
      await app.get(MirrorFollowing).start();
      expect((await app.get(MirrorState).get()).state).toBe(SyncState.BLOCKED);
      await slapd.restart({ acl: everything });
      await eventually(async () => (await app.get(MirrorState).get()).state, SyncState.IDLE);
      expect(await readIds({ app })).toEqual(['anna', 'ben', 'cleo', 'dan']);
      await app.close();
    } finally {
      await directory.stop();
    }
  });
});
