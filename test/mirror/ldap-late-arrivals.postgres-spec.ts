import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { readNames } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { MIRROR_DN, ROOT_DN, ROOT_PASSWORD, type SlapdOptions } from '../support/servers/slapd.mjs';
import { findProgram } from '../support/servers/system-packages.mjs';

const LDIF = buildLdif(['anna', 'ben', 'cleo'].map((id) => ({ id, name: `Person ${id}` })));

const setName = (id: string, name: string, ...more: string[]) =>
  [
    `dn: ${personDn(id)}`,
    'changetype: modify',
    'replace: displayName',
    `displayName: ${name}`,
    ...more,
    '',
  ].join('\n');

/** Of this server modifyTimestamp is all that says when an entry was changed. */
const WITHOUT_CSN: SlapdOptions = {
  acl: [
    'access to attrs=userPassword by anonymous auth by * none',
    'access to attrs=entryCSN by * none',
    `access to * by dn.exact="${MIRROR_DN}" read by * none`,
  ],
};

describe.each([
  ['entryCSN', {}],
  ['modifyTimestamp alone', WITHOUT_CSN],
])('a server that is asked for changes, and shows them by %s', (_, options) => {
  let directory: FollowedDirectory;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({ ldif: LDIF, syncprov: false, ...options });
  });

  afterAll(() => directory.stop());

  const nameOf = async (id: string) => (await readNames(directory.service))[id];

  /** As replication does: the change has the time at which it was made elsewhere. */
  function changeLate(id: string, name: string, time: string): void {
    const args = ['-x', '-H', directory.slapd.url, '-D', ROOT_DN, '-w', ROOT_PASSWORD, '-e', '!relax'];
    const input = setName(id, name, '-', 'replace: modifyTimestamp', `modifyTimestamp: ${time}`);
    const { status, stderr } = spawnSync(findProgram('ldapmodify') ?? '', args, { input, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  }

  it('is seen to have changed where the time of the change is an old one', async () => {
    // Later than the time at which the directory was filled, so that the following looks ask for what comes after it.
    await sleep(1100);
    await directory.change(setName('anna', 'Anna Berg'));
    await eventually(() => nameOf('anna'), 'Anna Berg');
    changeLate('ben', 'Ben Late', '20200101000000Z');
    await eventually(() => nameOf('ben'), 'Ben Late');
    // The next one is older still, as of another server whose clock is wrong.
    changeLate('ben', 'Ben Later', '20190101000000Z');
    await eventually(() => nameOf('ben'), 'Ben Later');
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });
});
