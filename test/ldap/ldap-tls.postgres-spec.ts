import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, readConfig } from '../../src/config/config.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { readIds } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';

describe('a directory behind TLS', () => {
  let slapd: TestSlapd;
  let caFile: string;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: buildLdif([{ id: 'anna' }]), tls: true });
    caFile = join(slapd.directory, 'trusted.pem');
    writeFileSync(caFile, slapd.ca);
  });

  afterAll(() => slapd.remove());

  const starttls = () => ({ DIRECTORY_STARTTLS: 'true' });
  const ldaps = () => ({ DIRECTORY_URL: `ldaps://127.0.0.1:${slapd.tlsPort}` });

  async function withService(settings: Environment, work: (service: TestService) => Promise<void>) {
    const service = await TestService.start({ environment: { ...directorySettings(slapd), ...settings } });
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  }

  it.each([
    ['StartTLS', starttls, 'ben'],
    ['ldaps', ldaps, 'cleo'],
  ])('is followed by %s if its authority is trusted', async (_, settings, id) => {
    await withService({ ...settings(), DIRECTORY_CA_FILE: caFile }, async (service) => {
      const before = await readIds(service);
      await slapd.modify(
        `dn: ${personDn(id)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`,
      );
      await eventually(() => readIds(service), [...before, id]);
    });
  });

  it.each([
    ['StartTLS', starttls],
    ['ldaps', ldaps],
  ])('is not read by %s if its authority is not trusted', async (_, settings) => {
    await withService(settings(), async (service) => {
      const { state, blockedReason } = await readStatus(service);
      expect(state).toBe('FAILING');
      expect(blockedReason).toContain('(SELF_SIGNED_CERT_IN_CHAIN)');
      expect(await readIds(service)).toEqual([]);
    });
  });
});

describe('a directory that requires a client certificate', () => {
  let slapd: TestSlapd;
  let caFile: string;
  let settings: Environment;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: buildLdif([{ id: 'anna' }]), tls: true, clientAccount: MIRROR_DN });
    caFile = join(slapd.directory, 'trusted.pem');
    writeFileSync(caFile, slapd.ca);
    settings = {
      DIRECTORY_URL: `ldaps://127.0.0.1:${slapd.tlsPort}`,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_CA_FILE: caFile,
      DIRECTORY_SYNC_SECONDS: '1',
    };
  });

  afterAll(() => slapd.remove());

  const certificate = () => ({
    DIRECTORY_CERT_FILE: join(slapd.directory, 'server.pem'),
    DIRECTORY_KEY_FILE: join(slapd.directory, 'server.key'),
  });
  const withPassword = () => ({
    ...certificate(),
    DIRECTORY_BIND_DN: MIRROR_DN,
    DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
  });
  const external = () => ({ ...certificate(), DIRECTORY_SASL_EXTERNAL: 'true' });
  const starttls = () => ({ ...external(), DIRECTORY_URL: slapd.url, DIRECTORY_STARTTLS: 'true' });

  it.each([
    ['a password', withPassword],
    ['its account, by ldaps', external],
    ['its account, by StartTLS', starttls],
  ])('is read with the certificate and %s', async (_, account) => {
    const service = await TestService.start({ environment: { ...settings, ...account() } });
    expect(await readIds(service)).toEqual(['anna']);
    await service.stop();
  });

  it('is not read without it, or with a key that does not fit', async () => {
    const password = { DIRECTORY_BIND_DN: MIRROR_DN, DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD };
    const wrong = { ...certificate(), DIRECTORY_KEY_FILE: join(slapd.directory, 'ca.key') };
    for (const [given, reason] of [
      [password, /^The (connection to the )?directory server (broke|closed)|^No TLS with/],
      [{ ...wrong, DIRECTORY_SASL_EXTERNAL: 'true' }, /^The client certificate or its key cannot be used$/],
    ] as const) {
      const service = await TestService.start({ environment: { ...settings, ...given } });
      const { state, blockedReason } = await readStatus(service);
      expect([state, blockedReason]).toEqual(['FAILING', expect.stringMatching(reason)]);
      await service.stop();
    }
  });

  it.each([
    [
      { DIRECTORY_KEY_FILE: undefined },
      'DIRECTORY_CERT_FILE and DIRECTORY_KEY_FILE go together: only one is set',
    ],
    [
      { DIRECTORY_BIND_DN: MIRROR_DN, DIRECTORY_BIND_PASSWORD: 'secret' },
      'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
    ],
    [
      { DIRECTORY_URL: 'ldap://localhost' },
      'DIRECTORY_CA_FILE and DIRECTORY_CERT_FILE only go with TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://',
    ],
    [{ DIRECTORY_CERT_FILE: '/nowhere/client.pem' }, 'DIRECTORY_CERT_FILE names no file'],
  ])('is not configured with %j', (change, problem) =>
    expect(() => readConfig({ ...settings, ...external(), ...change })).toThrow(problem),
  );

  it('is read with a password that was replaced in its file', async () => {
    const passwordFile = join(slapd.directory, 'password');
    writeFileSync(passwordFile, 'wrong\n');
    const account = { DIRECTORY_BIND_DN: MIRROR_DN, DIRECTORY_BIND_PASSWORD_FILE: passwordFile };
    const service = await TestService.start({ environment: { ...settings, ...certificate(), ...account } });
    expect((await readStatus(service)).blockedReason).toContain('invalidCredentials (49)');
    writeFileSync(passwordFile, `${MIRROR_PASSWORD}\n`);
    await eventually(() => readIds(service), ['anna']);
    await service.stop();
  });
});
