import { readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { readIds, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { RefusingProxy } from '../support/servers/refusing-proxy.js';
import { TestService } from '../support/servers/service.js';
import { MIRROR_DN, startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

const LDIF = buildLdif(
  ['anna', 'ben', 'cleo'].map((id) => ({ id, name: `Person ${id}` })),
  [{ id: 'club', members: ['anna', 'ben'] }],
);
const PAGES = 'The directory server refuses to send pages: all entries are read at once';
const NOT_PUSHED = 'The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)';

const CASES: [string, number | null, string | undefined, string[]][] = [
  // The emulated servers of ldap-polled.postgres-spec.ts answer otherwise.
  ['unwillingToPerform for pages', 53, undefined, [NOT_PUSHED, PAGES]],
  // Here slapd itself rejects the search.
  [
    'adminLimitExceeded for pages',
    null,
    `dn.exact="${MIRROR_DN}" size=unlimited size.prtotal=disabled`,
    [NOT_PUSHED, PAGES],
  ],
];

describe.each(CASES)('a polled server that responds with %s', (_, code, limits, expected) => {
  let slapd: TestSlapd;
  let proxy: RefusingProxy;
  let service: TestService;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF, syncprov: false, limits });
    proxy = await RefusingProxy.start(slapd.port, code);
    service = await TestService.start({
      environment: { ...directorySettings(slapd), DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}` },
    });
  });

  afterAll(async () => {
    await service.stop();
    await proxy.stop();
    await slapd.remove();
  });

  it('is read, and its changes are found', async () => {
    expect(await readIds(service)).toEqual(['anna', 'ben', 'cleo']);
    const { stderr } = await slapd.modify(
      [
        `dn: ${personDn('anna')}\nchangetype: modify\nreplace: displayName\ndisplayName: Anna Berg\n`,
        `dn: ${groupDn('club')}\nchangetype: modify\nadd: owner\nowner: ${personDn('cleo')}\n`,
        `dn: ${personDn('ben')}\nchangetype: delete\n`,
      ].join('\n'),
    );
    expect(stderr).toBe('');
    await eventually(async () => (await readNames(service))['anna'], 'Anna Berg');
    await eventually(() => readMembers(service, 'club'), ['anna MEMBER', 'cleo OWNER']);
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
    const isReported = async () => {
      const { mode, refusals: reported } = await readStatus(service);
      return [mode, reported];
    };
    await eventually(isReported, ['POLLED', expected.join('. ')]);
    expect(proxy.refused > 0).toBe(code !== null);
  });

  it('is checked, and its rejection is reported', async () => {
    const { directory } = readConfig({
      ...directorySettings(slapd),
      DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}`,
    });
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    expect(findings.filter(({ result }) => result === 'problem')).toEqual([]);
    const changes = findings.find(({ what }) => what === 'changes');
    expect(changes?.text?.split('. ').slice(-expected.length)).toEqual(expected);
  });
});
