import { add, join, leave, modify, remove, rename } from '../support/builders/change-records.js';
import { BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { ReplicatedFollower } from '../support/servers/replicated-follower.js';
import { ReplicatedSlapd } from '../support/servers/replicated-slapd.js';

const ELSEWHERE = `ou=elsewhere,${BASE_DN}`;
const LDIF = [
  buildLdif(
    ['anna', 'ben', 'cleo', 'dan', 'eva'].map((id) => ({ id })),
    [{ id: 'club', members: ['anna', 'ben', 'cleo'] }],
  ),
  `dn: ${ELSEWHERE}\nobjectClass: organizationalUnit\n`,
  `dn: uid=fred,${ELSEWHERE}\nobjectClass: inetOrgPerson\nuid: fred\ncn: fred\nsn: fred\n`,
].join('\n');

const move = (dn: string, superior: string) =>
  `dn: ${dn}\nchangetype: moddn\nnewrdn: ${dn.split(',')[0] ?? ''}\ndeleteoldrdn: 1\nnewsuperior: ${superior}\n`;

describe('a server whose clock is a day ahead, and changes while the service is stopped', () => {
  let slapd: ReplicatedSlapd;
  let follower: ReplicatedFollower;

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start([{ serverId: 1, isProvider: true, clock: '+1d' }], { ldif: LDIF });
    follower = await ReplicatedFollower.start(slapd, slapd.at(0).url);
  });

  afterAll(async () => {
    await follower.stop();
    await slapd.stop();
  });

  it('shows users who moved out of the base, and into it', async () => {
    await slapd.change(0, modify('anna', 'Anna'));
    const [, contextCsn = ''] =
      /contextCSN: (\d{14})/.exec(await slapd.at(0).search({ scope: 'base', attributes: ['contextCSN'] })) ??
      [];
    expect(contextCsn > new Date(Date.now() + 60_000).toISOString().replace(/\D/g, '')).toBe(true);
    await follower.expectToEqual(slapd, 0);
    await follower.pause();
    await slapd.change(
      0,
      move(personDn('ben'), ELSEWHERE),
      move(personDn('cleo'), ELSEWHERE),
      move(`uid=cleo,${ELSEWHERE}`, `ou=people,${BASE_DN}`),
      move(`uid=fred,${ELSEWHERE}`, `ou=people,${BASE_DN}`),
    );
    await follower.resume();
    await follower.expectToEqual(slapd, 0);
    expect(await follower.readIds()).toEqual(['anna', 'cleo', 'dan', 'eva', 'fred']);
  });

  it('is mirrored after its clock is corrected, though new changes have older times', async () => {
    await follower.pause();
    await slapd.at(0).restart({ clock: '+0d' });
    await slapd.change(
      0,
      modify('anna', 'Anna Berg'),
      add('gina'),
      rename('dan', 'daniel'),
      remove('eva'),
      join('gina'),
      leave('cleo'),
    );
    await follower.resume();
    await follower.expectToEqual(slapd, 0);
    await slapd.change(0, modify('cleo', 'Cleo Berg'), join('cleo'), remove('gina'));
    await follower.expectToEqual(slapd, 0);
  });
});
