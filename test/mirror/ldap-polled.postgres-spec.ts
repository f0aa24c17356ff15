import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { MirrorState } from '../../src/mirror/status/mirror-state.js';
import { readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { readIds, readMembers, readNames, readPeople } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readStatus } from '../support/clients/mirror.js';
import { eventually } from '../support/eventually.js';
import { type Attributes, PolledServer } from '../support/servers/polled-server.js';
import { TestService } from '../support/servers/service.js';
import { makeCertificates, SUFFIX } from '../support/servers/slapd.mjs';
import { TcpBalancer } from '../support/servers/tcp-balancer.js';
import { variable } from '../support/servers/store.js';

let PHOTO: Buffer;

beforeAll(async () => {
  const size = { width: 4, height: 4, channels: 3, background: 'red' } as const;
  PHOTO = await sharp({ create: size }).jpeg().toBuffer();
});

const PEOPLE = `ou=people,${SUFFIX}`;
const GROUPS = `ou=groups,${SUFFIX}`;
const personDn = (id: string) => `uid=${id},${PEOPLE}`;
const CLUB = `cn=club,${GROUPS}`;
const IDS = ['anna', 'ben', 'cleo'];
const uuidOf = (index: number) => `00000000-0000-4000-8000-00000000000${index}`;

const KINDS = [
  { name: 'times of RFC 3339', hasTimes: true, hasIdentity: true },
  { name: 'no times', hasTimes: false, hasIdentity: true },
  { name: 'neither times nor identities', hasTimes: false, hasIdentity: false },
] as const;

describe.each(KINDS)('a server with $name, without pages and comparisons', ({ hasTimes, hasIdentity }) => {
  let server: PolledServer;
  let service: TestService;
  let environment: Record<string, string>;
  let tls: Record<'key' | 'cert' | 'ca', Buffer>;
  let second = 10;

  const times = (): Attributes => (hasTimes ? { modifyTimestamp: [`2026-01-01T00:00:${second++}Z`] } : {});
  const person = (index: number, name: string) => ({
    objectClass: ['person'],
    uid: [IDS[index] ?? ''],
    cn: [name],
    jpegPhoto: [PHOTO],
    photoHash: ['1'],
    ...(hasIdentity ? { entryUUID: [uuidOf(index)] } : {}),
    ...times(),
  });
  const club = (...members: string[]) => ({
    objectClass: ['groupOfUniqueNames'],
    cn: ['club'],
    uniqueMember: members.map(personDn),
    ...(hasIdentity ? { entryUUID: [uuidOf(9)] } : {}),
    ...times(),
  });

  beforeAll(async () => {
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'polled-'));
    await makeCertificates(directory);
    const file = (name: string) => join(directory, name);
    tls = {
      key: readFileSync(file('server.key')),
      cert: readFileSync(file('server.pem')),
      ca: readFileSync(file('ca.pem')),
    };
    server = await PolledServer.start(tls, {
      objectClass: ['top'],
      vendorName: ['LLDAP'],
      namingContexts: [SUFFIX],
    });
    server.entries.set(SUFFIX, { objectClass: ['dcObject'] });
    for (const dn of [PEOPLE, GROUPS]) server.entries.set(dn, { objectClass: ['organizationalUnit'] });
    for (const [index, id] of IDS.entries()) server.entries.set(personDn(id), person(index, `Person ${id}`));
    server.entries.set(CLUB, club('anna', 'ben'));
    environment = {
      DIRECTORY_URL: server.url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_CA_FILE: file('ca.pem'),
      DIRECTORY_CERT_FILE: file('server.pem'),
      DIRECTORY_KEY_FILE: file('server.key'),
      DIRECTORY_BIND_DN: personDn('mirror'),
      DIRECTORY_BIND_PASSWORD: 'secret',
      DIRECTORY_SYNC_SECONDS: '1',
      DIRECTORY_SCAN_SECONDS: '1',
      DIRECTORY_GUARD_PERCENT: '100',
      ...modelSetting(
        'server: lldap\nusers: {name: cn, fields: {photo: jpegPhoto}, photoStamp: photoHash}\ngroups: {members: {attribute: uniqueMember}}\n',
      ),
    };
    service = await TestService.start({ environment });
  });

  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  const isPolledAgain = async () => {
    const { asOf } = await readStatus(service);
    await service.until(async () => (await readStatus(service)).asOf !== asOf);
  };

  it('is read', async () => {
    expect(await readIds(service)).toEqual(IDS);
    expect(await readMembers(service, 'club')).toEqual(['anna MEMBER', 'ben MEMBER']);
    expect(Object.values(await readPeople(service)).every(({ hasPhoto }) => hasPhoto)).toBe(true);
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', mode: 'POLLED' });
  });

  it('is polled for changes', async () => {
    server.entries.set(personDn('anna'), person(0, 'Anna Berg'));
    server.entries.set(CLUB, club('anna', 'cleo'));
    await eventually(async () => (await readNames(service))['anna'], 'Anna Berg');
    await eventually(() => readMembers(service, 'club'), ['anna MEMBER', 'cleo MEMBER']);
    server.entries.delete(personDn('ben'));
    await eventually(() => readIds(service), ['anna', 'cleo']);
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });

  it('is checked', async () => {
    const { directory } = readConfig(environment);
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    const problems = findings.filter(({ result }) => result === 'problem').map(({ text }) => text ?? '');
    expect(problems.filter((text) => !text.startsWith('entryUUID is missing'))).toEqual([]);
    expect(problems.length > 0).toBe(!hasIdentity);
    const changes = findings.find(({ what }) => what === 'changes');
    expect(changes?.text).toContain('refuses to send pages: all entries are read at once');
  });

  it('is named by its vendor, or by its kind', async () => {
    const { directory } = readConfig(environment);
    const { source } = directory;
    if (source.kind === 'file') throw new Error('It is a file');
    const nameOf = async () => {
      const [finding] = await checkDirectory(directory, source, new AbortController().signal);
      return finding?.text?.split(', ').at(-1);
    };
    const { root } = server;
    const shown = { objectClass: ['top'], namingContexts: [SUFFIX] };
    server.root = { ...shown, vendorName: ['LLDAP'] };
    expect(await nameOf()).toBe('LLDAP');
    server.root = { ...shown, supportedCapabilities: ['1.2.840.113556.1.4.800'] };
    expect(await nameOf()).toBe('active-directory');
    server.root = { ...shown, vendorName: ['389 Project'], ipaTopologyPluginVersion: ['1.0'] };
    expect(await nameOf()).toBe('389 Project (freeipa)');
    server.root = root;
  });

  it('sends photos only of entries that changed', async () => {
    const photos = () => server.sent.get('jpegphoto') ?? 0;
    // The latest change is read once more, because others may have the same time.
    await isPolledAgain();
    await isPolledAgain();
    const before = photos();
    await isPolledAgain();
    await isPolledAgain();
    expect(photos()).toBe(before);
    server.entries.set(personDn('cleo'), { ...person(2, 'Cleo Berg'), jpegPhoto: [] });
    await eventually(async () => (await readPeople(service))['cleo']?.hasPhoto, false);
    expect(photos() - before).toBe(0);
    server.entries.set(personDn('cleo'), person(2, 'Cleo'));
    await eventually(async () => (await readPeople(service))['cleo']?.hasPhoto, true);
    await isPolledAgain();
    await isPolledAgain();
    const after = photos();
    await isPolledAgain();
    expect(photos()).toBe(after);
  });

  if (hasIdentity)
    it('does not show an entry with an identity of zeros, and deletes no other', async () => {
      const zeros = '00000000-0000-0000-0000-000000000000';
      server.entries.set(personDn('zero'), { ...person(0, 'Zero'), uid: ['zero'], entryUUID: [zeros] });
      const before = await readIds(service);
      await isPolledAgain();
      await isPolledAgain();
      expect(await readIds(service)).toEqual(before);
      const { directory } = readConfig(environment);
      if (directory.source.kind === 'file') throw new Error('It is a file');
      const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
      expect(findings.map(({ text }) => text)).toContainEqual(
        expect.stringMatching(
          /^1 of \d entries would be quarantined: an entry has an entryUUID that is not a UUID \(1\)\. Set uuid to the attribute with the permanent id of an entry$/,
        ),
      );
      server.entries.delete(personDn('zero'));
    });

  if (!hasTimes)
    it('sends a photo when the attribute that changes with it differs', async () => {
      const hasPhoto = async () => (await readPeople(service))['anna']?.hasPhoto;
      const photos = () => server.sent.get('jpegphoto') ?? 0;
      const before = photos();
      server.entries.set(personDn('anna'), { ...person(0, 'Anna Berg'), jpegPhoto: [], photoHash: ['2'] });
      await eventually(hasPhoto, false);
      server.entries.set(personDn('anna'), { ...person(0, 'Anna Berg'), photoHash: ['2'] });
      await isPolledAgain();
      await isPolledAgain();
      expect([await hasPhoto(), photos()]).toEqual([false, before]);
      server.entries.set(personDn('anna'), { ...person(0, 'Anna Berg'), photoHash: ['3'] });
      await eventually(hasPhoto, true);
    });

  if (hasTimes)
    it('is waited for when it no longer shows its state, and lacks an entry', async () => {
      const suffix = { objectClass: ['dcObject'] };
      const shown = { ...suffix, contextCSN: ['20260101000000.000000Z#000000#001#000000'] };
      server.entries.set(SUFFIX, shown);
      await isPolledAgain();
      await isPolledAgain();
      const before = await readIds(service);
      server.entries.set(SUFFIX, suffix);
      // A poll that has begun before has seen the state.
      await isPolledAgain();
      await isPolledAgain();
      server.entries.delete(personDn('cleo'));
      const read = () => service.app.get(MirrorState).get();
      const lacking = 'The directory server no longer shows its contextCSN';
      await eventually(async () => (await read()).reason, lacking);
      expect((await read()).state).toBe('FAILING');
      expect(await readIds(service)).toEqual(before);
      server.entries.set(SUFFIX, shown);
      await eventually(
        () => readIds(service),
        before.filter((id) => id !== 'cleo'),
      );
    });

  it('is read by the connection that follows it, though another one would reach another server', async () => {
    const other = await PolledServer.start(tls, server.root);
    for (const [dn, attributes] of server.entries) other.entries.set(dn, attributes);
    other.entries.set(personDn('dora'), { ...person(0, 'Dora'), uid: ['dora'], entryUUID: [uuidOf(8)] });
    const balancer = await TcpBalancer.start(...[server, other].map(({ url }) => Number(new URL(url).port)));
    const second = await TestService.start({
      environment: { ...environment, DIRECTORY_URL: balancer.url.replace('ldap:', 'ldaps:') },
    });
    try {
      expect(await readIds(second)).toEqual(await readIds(service));
    } finally {
      await second.stop();
      await balancer.stop();
      await other.stop();
    }
  });
});
