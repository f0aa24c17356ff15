import { execFile, execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { InstalledSlapd } from '../support/servers/installed-slapd.js';
import { search } from '../support/servers/ldap-tools.mjs';
import { MIRROR_DN, MIRROR_PASSWORD, SUFFIX } from '../support/servers/slapd.mjs';

const USER = `cn=anna,${SUFFIX}`;

const accountOf = (dn: string, name: string, password: string) => `dn: ${dn}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: ${name}
userPassword: ${password}
`;

/** The server of Debian's package, whose rules let users change their passwords, and everyone read the rest. */
describe('ldap/set-up.sh', () => {
  let slapd: InstalledSlapd;

  beforeAll(async () => {
    const accounts = [accountOf(MIRROR_DN, 'mirror', MIRROR_PASSWORD), accountOf(USER, 'anna', 'secret')];
    slapd = await InstalledSlapd.start(accounts.join('\n'));
  });

  afterAll(() => slapd.stop());

  const environment = () => ({ ...process.env, LDAPURI: slapd.socket });
  const configuration = (...wanted: string[]) => {
    const args = ['-Q', '-LLL', '-o', 'ldif-wrap=no', '-Y', 'EXTERNAL', '-b', 'cn=config', ...wanted];
    return execFileSync('ldapsearch', args, { env: environment(), encoding: 'utf8' });
  };

  it('asks for the suffix, and adds rights, limits and the overlay before the rules of the server', () => {
    const output = execFileSync(resolve('ldap/set-up.sh'), {
      env: environment(),
      encoding: 'utf8',
      input: `${SUFFIX}\n`,
      cwd: '/',
    });
    expect(output).toContain(`Suffixes of this server:\n  ${SUFFIX}\n`);
    const rules = configuration(`(olcSuffix=${SUFFIX})`, 'olcAccess', 'olcLimits');
    expect(rules.match(/^olc(?:Access|Limits): .*$/gm)).toEqual([
      `olcAccess: {0}to attrs=userPassword by dn.exact="${MIRROR_DN}" none by * break`,
      `olcAccess: {1}to * by dn.exact="${MIRROR_DN}" read by * break`,
      'olcAccess: {2}to attrs=userPassword by self write by anonymous auth by * none',
      'olcAccess: {3}to * by * read',
      `olcLimits: {0}dn.exact="${MIRROR_DN}" size=unlimited time=unlimited`,
    ]);
    expect(configuration('(objectClass=olcSyncProvConfig)', 'dn')).toContain('syncprov');
  });

  it('gives the account everything except passwords, and takes nothing from others', async () => {
    const readAs = (dn: string, password: string) =>
      search({ url: slapd.url, dn, password }, { base: SUFFIX, attributes: ['userPassword', 'cn'] });
    const mirror = await readAs(MIRROR_DN, MIRROR_PASSWORD);
    expect(mirror).toContain('cn: anna');
    expect(mirror).not.toContain('userPassword');
    const user = await readAs(USER, 'secret');
    expect(user.match(/^userPassword/gm)).toHaveLength(1);
    expect(user).toContain('cn: mirror');
  });

  it('changes nothing in a server that is prepared, and names an unknown suffix', async () => {
    const before = configuration();
    const run = (suffix: string) =>
      promisify(execFile)(resolve('ldap/set-up.sh'), [suffix], { env: environment() });
    expect((await run(SUFFIX)).stdout).toMatch(
      /has its rights already\n.* has the overlay syncprov already\n/,
    );
    expect(configuration()).toBe(before);
    await expect(run('dc=nothing')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no database with the suffix dc=nothing') as string,
    });
  });
});
