import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { readIds } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

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
      expect(blockedReason).toContain('not signed by an authority that is trusted here');
      expect(await readIds(service)).toEqual([]);
    });
  });
});
