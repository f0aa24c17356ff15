import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
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

/** The only information of this server about the time of a change is modifyTimestamp. */
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
])('a server that is polled, and shows changes by %s', (_, options) => {
  const directory = forSuite(() => FollowedDirectory.start({ ldif: LDIF, syncprov: false, ...options }));

  const nameOf = async (id: string) => (await readNames(directory.service))[id];

  /** Like replication: the time of the change is that at another server. */
  function changeLate(id: string, name: string, time: string): void {
    const args = ['-x', '-H', directory.slapd.url, '-D', ROOT_DN, '-w', ROOT_PASSWORD, '-e', '!relax'];
    const input = setName(id, name, '-', 'replace: modifyTimestamp', `modifyTimestamp: ${time}`);
    const { status, stderr } = spawnSync(findProgram('ldapmodify') ?? '', args, { input, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  }

  it('shows changes with an old time', async () => {
    // Later than the initial content, so that the next polls read newer entries only.
    await sleep(1100);
    await directory.change(setName('anna', 'Anna Berg'));
    await eventually(() => nameOf('anna'), 'Anna Berg');
    changeLate('ben', 'Ben Late', '20200101000000Z');
    await eventually(() => nameOf('ben'), 'Ben Late');
    // The next change is even older, like that of a server with a wrong clock.
    changeLate('ben', 'Ben Later', '20190101000000Z');
    await eventually(() => nameOf('ben'), 'Ben Later');
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });
});
