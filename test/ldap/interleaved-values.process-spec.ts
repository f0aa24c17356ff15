import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, readConfig } from '../../src/config/config.js';
import type { Entry } from '../../src/ldap/entry.js';
import type { Directory, Listed } from '../../src/sources/directory.js';
import { openDirectory } from '../../src/sources/ldap/ldap-servers.js';
import { groupDn, personDn } from '../support/builders/directory.js';
import { NO_SAMPLE } from '../support/builders/built-in-config.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';

const IDS = ['ann', 'ben', 'cleo'];
const [ANN, BEN, CLEO] = IDS.map(personDn);

/** `slapadd -q` stores values as they come, so that slapd returns an attribute several times in one entry. */
const LDIF = [
  ...IDS.map((id) => `dn: ${personDn(id)}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`),
  `dn: ${groupDn('mixed')}`,
  ...['objectClass: groupOfNames', 'objectClass: directoryGroup', 'cn: mixed'],
  ...[`member: ${ANN}`, `owner: ${ANN}`, `member: ${BEN}`, `groupAdmin: ${BEN}`, `member: ${CLEO}`],
  ...[`owner: ${CLEO}`, ''],
].join('\n');

describe('an attribute whose values are interleaved with those of others', () => {
  let slapd: TestSlapd;
  const account = { DIRECTORY_BIND_DN: MIRROR_DN, DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD };

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF });
  });

  afterAll(() => slapd.remove());

  async function withDirectory<Result>(
    settings: Environment,
    use: (directory: Directory) => Promise<Result>,
  ) {
    const config = readConfig({ ...NO_SAMPLE, DIRECTORY_BASE_DN: SUFFIX, ...settings }).directory;
    const directory = await openDirectory(config, [], new AbortController().signal);
    try {
      return await use(directory);
    } finally {
      directory.close();
    }
  }

  async function scan(directory: Directory): Promise<Listed> {
    for await (const page of directory.scan(true))
      for (const listed of page) if (listed.dn === groupDn('mixed')) return listed;
    throw new Error('there is no group');
  }

  async function fetch(directory: Directory): Promise<Entry> {
    for await (const { entry } of directory.fetch([await scan(directory)])) return entry;
    throw new Error('there is no group');
  }

  function expectAll(entry: Entry | null): void {
    expect([entry?.text('member').sort(), entry?.text('owner').sort(), entry?.text('groupAdmin')]).toEqual([
      [ANN, BEN, CLEO],
      [ANN, CLEO],
      [BEN],
    ]);
  }

  it('is sent by slapd in several parts', async () => {
    const attributes = ['member', 'owner'];
    const text = await slapd.search({ base: groupDn('mixed'), scope: 'base', attributes });
    const names = [...text.matchAll(/^(\w+):/gm)].map(([, name]) => name);
    const parts = names.filter((name, index, all) => name !== all[index - 1]);
    expect(parts.filter((name) => name === 'member').length).toBeGreaterThan(1);
  });

  it('loses no value in a scan, and none when the entry is fetched', async () => {
    const settings = { DIRECTORY_URL: slapd.url, ...account };
    expectAll(await withDirectory(settings, async (directory) => (await scan(directory)).entry));
    expectAll(await withDirectory(settings, fetch));
  });

  it('loses no value in a file', async () => {
    const file = join(slapd.directory, 'interleaved.ldif');
    writeFileSync(file, LDIF);
    const settings = { DIRECTORY_URL: `file:${file}` };
    expectAll(await withDirectory(settings, async (directory) => (await scan(directory)).entry));
    expectAll(await withDirectory(settings, fetch));
  });
});
