import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { readConfig } from '../../src/config/config.js';
import { createApp } from '../../src/create-app.js';
import { MirrorFollowing } from '../../src/mirror/following.js';
import { MirrorState } from '../../src/mirror/status/mirror-state.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { readIds, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readStatus, stopFollowing } from '../support/clients/mirror.js';
import { eventually } from '../support/eventually.js';
import { MANAGER, TestDirectory389 } from '../support/servers/directory-389.js';
import { AD_SUFFIX, TestSamba, unicodePassword } from '../support/servers/samba.js';
import { TestService } from '../support/servers/service.js';
import { SUFFIX } from '../support/servers/slapd.mjs';
import { variable } from '../support/servers/store.js';

/** A server that numbers its changes, with an account of ordinary rights: it does not see deleted entries. */
interface Kind {
  readonly name: string;
  readonly start: () => Promise<TestSamba | TestDirectory389>;
  readonly suffix: string;
  readonly account: { readonly dn: string; readonly password: string; readonly create: string };
  readonly rdn: 'CN' | 'uid';
  readonly person: readonly string[];
  /** A filter of users, and the values of an attribute for which it excludes and includes them. */
  readonly users: {
    readonly filter: string;
    readonly attribute: string;
    readonly excluded: string;
    readonly included: string;
  };
  readonly group: readonly string[];
  readonly nameAttribute: string;
  readonly server: string;
}

const KINDS: readonly Kind[] = [
  {
    name: 'Samba as a domain controller',
    start: () => TestSamba.start(),
    suffix: AD_SUFFIX,
    account: {
      dn: `CN=mirror,CN=Users,${AD_SUFFIX}`,
      password: 'Read-only-1',
      create: `objectClass: user\nsAMAccountName: mirror\nuserAccountControl: 512\n${unicodePassword('Read-only-1')}\n`,
    },
    rdn: 'CN',
    person: ['objectClass: user', 'sAMAccountName: %', 'userAccountControl: 544'],
    users: {
      // The accounts without the bit of disabled ones, by an extensible match ([MS-ADTS] 3.1.1.3.4.4.1).
      filter: '(&(objectClass=user)(!(userAccountControl:1.2.840.113556.1.4.803:=2)))',
      attribute: 'userAccountControl',
      excluded: '546',
      included: '544',
    },
    group: ['objectClass: group', 'sAMAccountName: %'],
    nameAttribute: 'displayName',
    server: 'active-directory',
  },
  {
    name: '389 Directory Server',
    start: () => TestDirectory389.start(),
    suffix: SUFFIX,
    account: {
      dn: `cn=mirror,${SUFFIX}`,
      password: 'mirror-secret',
      create: [
        'objectClass: applicationProcess',
        'objectClass: simpleSecurityObject',
        'userPassword: mirror-secret',
        '',
        `dn: ${SUFFIX}`,
        'changetype: modify',
        'add: aci',
        `aci: (targetattr="*")(version 3.0; acl "mirror"; allow (read, search, compare) userdn="ldap:///cn=mirror,${SUFFIX}";)\n`,
      ].join('\n'),
    },
    rdn: 'uid',
    person: ['objectClass: inetOrgPerson', 'uid: %', 'cn: %', 'sn: %'],
    users: {
      filter: '(&(objectClass=inetOrgPerson)(!(employeeType=former)))',
      attribute: 'employeeType',
      excluded: 'former',
      included: 'current',
    },
    group: ['objectClass: groupOfNames', 'cn: %'],
    nameAttribute: 'displayName',
    server: '389ds',
  },
];

describe.each(KINDS)('$name, by the numbers of changes', (kind) => {
  const people = `OU=People,${kind.suffix}`;
  const elsewhere = `OU=Elsewhere,${kind.suffix}`;
  const team = `OU=Team,${people}`;
  const guests = `OU=Guests,${elsewhere}`;
  const groups = `OU=Groups,${kind.suffix}`;
  const personDn = (id: string, parent = people) => `${kind.rdn}=${id},${parent}`;
  const groupDn = (id: string) => `CN=${id},${groups}`;
  const add = (dn: string, lines: readonly string[]) => `dn: ${dn}\nchangetype: add\n${lines.join('\n')}\n`;
  const named = (lines: readonly string[], id: string) => lines.map((line) => line.replace('%', id));
  const person = (id: string, parent?: string) => add(personDn(id, parent), named(kind.person, id));
  const replace = (dn: string, attribute: string, ...values: string[]) =>
    `dn: ${dn}\nchangetype: modify\nreplace: ${attribute}\n${values.map((value) => `${attribute}: ${value}\n`).join('')}`;
  const remove = (dn: string) => `dn: ${dn}\nchangetype: delete\n`;
  const move = (dn: string, rdn: string, parent: string) =>
    `dn: ${dn}\nchangetype: modrdn\nnewrdn: ${rdn}\ndeleteoldrdn: 1\nnewsuperior: ${parent}\n`;

  let server: TestSamba | TestDirectory389;
  let service: TestService;
  let environment: Environment;

  const change = async (...records: string[]) => {
    const { code, stderr } = await server.modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  };
  const hasPeople = (...ids: string[]) => eventually(() => readIds(service), ids.sort());
  const hasMembers = (...ids: string[]) =>
    eventually(
      () => readMembers(service, 'club'),
      ids.map((id) => `${id} MEMBER`),
    );

  beforeAll(async () => {
    server = await kind.start();
    await change(
      add(kind.account.dn, [kind.account.create]),
      ...[people, team, elsewhere, guests, groups].map((dn) => add(dn, ['objectClass: organizationalUnit'])),
      ...['anna', 'ben', 'cleo', 'dan'].map((id) => person(id)),
      person('emil', team),
      person('fred', elsewhere),
      person('ida', guests),
      add(groupDn('club'), [...named(kind.group, 'club'), `member: ${personDn('anna')}`]),
    );
    const authority = join(variable('TEST_WORK_DIRECTORY'), `${kind.server}-ca.pem`);
    writeFileSync(authority, server.ca);
    environment = {
      DIRECTORY_URL:
        server instanceof TestSamba ? `ldaps://${server.host}` : `ldaps://127.0.0.1:${server.tlsPort}`,
      DIRECTORY_CA_FILE: authority,
      DIRECTORY_BASE_DN: kind.suffix,
      DIRECTORY_BIND_DN: kind.account.dn,
      DIRECTORY_BIND_PASSWORD: kind.account.password,
      // Only the numbers of changes show changes in time.
      DIRECTORY_SYNC_SECONDS: '3600',
      DIRECTORY_SCAN_SECONDS: '3600',
      DIRECTORY_GUARD_PERCENT: '100',
      ...modelSetting(
        `server: ${kind.server}\nusers: {base: OU=People, filter: '${kind.users.filter}'}\ngroups: {base: OU=Groups}\n`,
      ),
    };
    service = await TestService.start({ environment });
  });

  afterAll(async () => {
    await service.stop();
    await server.remove();
  });

  /** Stops the service, changes the directory, and starts the service again. */
  async function restart(meanwhile: () => Promise<unknown>): Promise<void> {
    await stopFollowing(service);
    await meanwhile();
    await service.app.close();
    service.app = await createApp(service.config);
    await service.app.listen(service.config.port, service.config.host);
    await service.app.get(MirrorFollowing).start();
  }

  it('are read', async () => {
    await hasPeople('anna', 'ben', 'cleo', 'dan', 'emil');
    await hasMembers('anna');
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', mode: 'COUNTED', refusals: null });
  });

  it('are added, changed and renamed', async () => {
    await change(
      person('greta'),
      replace(personDn('anna'), kind.nameAttribute, 'Anna Berg'),
      replace(groupDn('club'), 'member', personDn('anna'), personDn('greta')),
      move(personDn('ben'), `${kind.rdn}=benno`, people),
    );
    await eventually(async () => (await readNames(service))['anna'], 'Anna Berg');
    await hasMembers('anna', 'greta');
  });

  it('leave and enter what the filter of users selects', async () => {
    const { attribute, excluded, included } = kind.users;
    const hasAnna = async () => (await readIds(service)).includes('anna');
    await change(replace(personDn('anna'), attribute, excluded));
    await eventually(hasAnna, false);
    await hasMembers('greta');
    await change(replace(personDn('anna'), attribute, included));
    await eventually(hasAnna, true);
    await hasMembers('anna', 'greta');
  });

  it('are deleted, move out of the base, and move into it', async () => {
    await change(remove(personDn('cleo')));
    await eventually(async () => (await readIds(service)).includes('cleo'), false);
    await change(move(personDn('dan'), `${kind.rdn}=dan`, elsewhere));
    await eventually(async () => (await readIds(service)).includes('dan'), false);
    await change(move(personDn('fred', elsewhere), `${kind.rdn}=fred`, people));
    await eventually(async () => (await readIds(service)).includes('fred'), true);
  });

  it('move with their container', async () => {
    await change(move(`OU=Team,${people}`, 'OU=Team', elsewhere));
    await eventually(async () => (await readIds(service)).includes('emil'), false);
    await change(move(`OU=Guests,${elsewhere}`, 'OU=Guests', people));
    await eventually(async () => (await readIds(service)).includes('ida'), true);
  });

  it('are those of the time of a stop after a restart', async () => {
    await restart(async () => {
      await change(person('hugo'), remove(personDn('greta')));
    });
    await eventually(
      async () => (await readIds(service)).filter((id) => ['greta', 'hugo'].includes(id)),
      ['hugo'],
    );
    await hasMembers('anna');
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });

  if (kind.server === '389ds') {
    it.each([
      ['a role', 'cn=role', ['objectClass: organizationalRole'], 'kurt'],
      ['a user', 'uid=chief', named(kind.person, 'chief'), 'lena'],
    ])('move with %s that they are below', async (_, rdn, lines, id) => {
      const dn = `${rdn},${elsewhere}`;
      await change(add(dn, lines), person(id, dn), person(`${id}-next`));
      await eventually(async () => (await readIds(service)).includes(`${id}-next`), true);
      await change(move(dn, rdn, people));
      await eventually(async () => (await readIds(service)).includes(id), true);
    });

    it('are not read beyond a limit of the account, whose setting is named', async () => {
      const before = await readIds(service);
      const limits = ['nsSizeLimit', 'nsPagedSizeLimit'];
      await restart(async () => {
        await change(...limits.map((name) => replace(kind.account.dn, name, '2')));
      });
      await eventually(async () => (await readStatus(service)).state, 'FAILING');
      const { reason } = await service.app.get(MirrorState).get();
      expect(reason).toContain('set nsSizeLimit');
      expect(reason).not.toContain('OpenLDAP');
      expect(await readIds(service)).toEqual(before);
      await restart(() => change(...limits.map((name) => replace(kind.account.dn, name, '-1'))));
      await eventually(async () => (await readStatus(service)).state, 'IDLE');
    });

    it('delete nothing when the account loses its rights', async () => {
      const before = await readIds(service);
      const access = `aci: (targetattr="*")(version 3.0; acl "mirror"; allow (read, search, compare) userdn="ldap:///${kind.account.dn}";)\n`;
      const rights = (what: 'add' | 'delete') =>
        change(
          `dn: ${kind.suffix}\nchangetype: modify\n${what}: aci\n${access}`,
          replace(people, 'description', what),
        );
      await rights('delete');
      await service.until(async () => ['BLOCKED', 'FAILING'].includes((await readStatus(service)).state));
      expect(await readIds(service)).toEqual(before);
      const { directory } = readConfig(environment);
      if (directory.source.kind === 'file') throw new Error('It is a file');
      const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
      const problems = findings.filter(({ result }) => result === 'problem').map(({ text }) => text ?? '');
      expect(problems.join()).toMatch(/that the account sees|may not read/);
      // A held plan is checked again after an interval, or by the next start.
      await restart(() => rights('add'));
      await eventually(async () => (await readStatus(service)).state, 'IDLE');
      expect(await readIds(service)).toEqual(before);
    });
  }

  it('are reported by a check', async () => {
    const { directory } = readConfig(environment);
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    const changes = findings.find(({ what }) => what === 'changes');
    expect(changes?.text).toBe('the server numbers them, and is asked for the latest number every second');
  });
});

describe('389 Directory Server that pushes changes', () => {
  let server: TestDirectory389;
  let settings: Environment;

  const change = async (...records: string[]) => {
    const { code, stderr } = await server.modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  };
  const person = (id: string) =>
    `dn: uid=${id},ou=people,${SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: ${id}\nsn: ${id}\n`;

  beforeAll(async () => {
    server = await TestDirectory389.start({ pushes: true });
    await change(
      ...['people', 'groups'].map(
        (name) => `dn: ou=${name},${SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n`,
      ),
      person('anna'),
      `dn: cn=club,ou=groups,${SUFFIX}\nchangetype: add\nobjectClass: groupOfNames\nmember: uid=anna,ou=people,${SUFFIX}\n`,
    );
    settings = {
      DIRECTORY_URL: server.url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: MANAGER.dn,
      DIRECTORY_BIND_PASSWORD: MANAGER.password,
      DIRECTORY_SYNC_SECONDS: '3600',
      DIRECTORY_SCAN_SECONDS: '3600',
    };
  });

  afterAll(() => server.remove());

  it.each([
    ['push', 'nsUniqueId', 'PUSHED', 'the server pushes them (RFC 4533)'],
    ['push', 'entryUUID', 'COUNTED', 'Pushed changes are not identified by entryUUID'],
    [null, 'nsUniqueId', 'COUNTED', 'of 389ds is used only with follow: push'],
  ])('with follow: %s and the identity %s is followed in the mode %s', async (follow, uuid, mode, text) => {
    const chosen = follow === null ? '' : `follow: ${follow}\n`;
    const environment = { ...settings, ...modelSetting(`server: 389ds\n${chosen}uuid: ${uuid}\n`) };
    const service = await TestService.start({ environment });
    try {
      await eventually(async () => (await readStatus(service)).mode, mode);
      const added = `${follow ?? 'default'}-${uuid.toLowerCase()}`;
      const isShown = async () => (await readIds(service)).includes(added);
      await change(person(added));
      await eventually(isShown, true);
      await change(`dn: uid=${added},ou=people,${SUFFIX}\nchangetype: delete\n`);
      await eventually(isShown, false);
      const { directory } = readConfig(environment);
      if (directory.source.kind === 'file') throw new Error('It is a file');
      const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
      expect(findings.find(({ what }) => what === 'changes')?.text).toContain(text);
    } finally {
      await service.stop();
    }
  });
});
