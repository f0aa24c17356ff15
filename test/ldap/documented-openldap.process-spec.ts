import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { buildLdif } from '../support/builders/directory.js';
import { isServed, runProgram } from '../support/servers/ldap-tools.mjs';
import { findFreePort } from '../support/servers/postgres.mjs';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';
import { findProgram } from '../support/servers/system-packages.mjs';
import { spawnBound } from '../support/spawn-bound.mjs';

/** More than OpenLDAP returns to an account without limits of its own. */
const PEOPLE = Array.from({ length: 501 }, (_, index) => ({ id: `p${index}` }));
/** What docs/ldap.md says to configure. */
const OWN_LINES = /^(access|limits|overlay|syncprov|moduleload "?syncprov)/;
/** The rules of a new server of Debian, with which others than the owner read everything but passwords, and here nothing. */
const DEFAULT_RULES = [
  'access to attrs=userPassword by self write by anonymous auth by * none',
  'access to * by * none',
];
/** Root of the machine, which the files in ldap/ are for. */
const ROOT = 'gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth';

/** The blocks of slapd.conf in the section of docs/ldap.md about OpenLDAP. */
function documentedLines(): string[] {
  const [, section = ''] = readFileSync('docs/ldap.md', 'utf8').split(/^## OpenLDAP$/m);
  const [own = ''] = section.split(/^## /m);
  return [...own.matchAll(/```text\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'));
}

describe('the documented configuration of OpenLDAP', () => {
  let data: TestSlapd;
  let base: string[];
  let server: ChildProcess | null = null;

  beforeEach(async () => {
    data = await startSlapd({ ldif: buildLdif(PEOPLE) });
    await data.stop();
    const lines = readFileSync(join(data.directory, 'slapd.conf'), 'utf8').split('\n');
    base = lines
      .filter((line) => !OWN_LINES.test(line))
      .map((line) => (line.startsWith('index') ? 'index objectClass,uid,cn,member eq' : line));
  });

  afterEach(async () => {
    if (server !== null && server.exitCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    await data.remove();
  });

  async function start(...args: string[]): Promise<string> {
    const url = `ldap://127.0.0.1:${await findFreePort()}`;
    const socket = `ldapi://${encodeURIComponent(join(data.directory, 'ldapi'))}`;
    const options = [...args, '-h', `${url} ${socket}`, '-d', '0'];
    server = spawnBound(findProgram('slapd') ?? '', options, { stdio: 'ignore' });
    while (!(await isServed(url))) {
      expect(server.exitCode).toBeNull();
      await sleep(50);
    }
    return url;
  }

  async function check(url: string): Promise<string[]> {
    const { directory } = readConfig({
      DIRECTORY_URL: url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: MIRROR_DN,
      DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
    });
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    return findings.map(({ what, result, text }) => `${result} ${what}: ${text ?? ''}`);
  }

  const expected = expect.arrayContaining([
    `ok people: ${PEOPLE.length} below ou=people,${SUFFIX}`,
    'ok changes: the server pushes them (RFC 4533)',
  ]) as string[];

  it('is that of an account that reads everything, and of changes that are pushed, in slapd.conf', async () => {
    const documented = documentedLines();
    const isModule = (line: string) => line.startsWith('moduleload');
    const file = join(data.directory, 'documented.conf');
    const place = base.findIndex((line) => line.startsWith('pidfile'));
    const lines = base.toSpliced(
      place,
      0,
      ...documented.filter(isModule).map((line) => line.replace(/ +#.*/, '')),
    );
    writeFileSync(file, [...lines, ...documented.filter((line) => !isModule(line)), ''].join('\n'));
    expect(await check(await start('-f', file))).toEqual(expected);
  });

  it('is the same in cn=config, by the files in ldap/', async () => {
    const file = join(data.directory, 'plain.conf');
    const place = base.findIndex((line) => line.startsWith('database'));
    const lines = base.toSpliced(place, 0, 'database config', `access to * by dn.exact="${ROOT}" manage`);
    writeFileSync(file, [...lines, ...DEFAULT_RULES, ''].join('\n'));
    const directory = join(data.directory, 'config');
    mkdirSync(directory);
    expect(await runProgram('slaptest', ['-f', file, '-F', directory])).toMatchObject({ code: 0 });
    const url = await start('-F', directory);
    expect((await check(url)).join()).not.toContain('ok people');
    const socket = `ldapi://${encodeURIComponent(join(data.directory, 'ldapi'))}`;
    for (const name of ['mirror-access', 'syncprov']) {
      const args = ['-Q', '-Y', 'EXTERNAL', '-H', socket, '-f', `ldap/${name}.ldif`];
      expect(await runProgram('ldapmodify', args)).toMatchObject({ code: 0, stderr: '' });
    }
    expect(await check(url)).toEqual(expected);
  });
});
