import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDump } from '../../support/builders/ldap-content.js';
import type { Ended, LdapQuery } from '../../support/servers/ldap-tools.mjs';
import { PolledServer } from '../../support/servers/polled-server.js';
import { startSlapd, SUFFIX, type TestSlapd } from '../../support/servers/slapd.mjs';
import type { BehaviorServer } from './behavior-directory.js';

/** Attributes that the emulated server does not have: they show that an entry has changed. */
const ABSENT = ['dn', 'entrycsn', 'modifytimestamp'];

/** It changes with the photo. */
export const PHOTO_STAMP = 'photoHash';

/** An emulated server that shows no changes, with the content of slapd, which is changed and shown by tools of OpenLDAP. */
export class PolledDirectory implements BehaviorServer {
  private constructor(
    private readonly slapd: TestSlapd,
    private readonly emulator: PolledServer,
  ) {}

  static async start(): Promise<PolledDirectory> {
    const slapd = await startSlapd({ tls: true, syncprov: false });
    const read = (name: string) => readFileSync(join(slapd.directory, name));
    const tls = { key: read('server.key'), cert: read('server.pem'), ca: read('ca.pem') };
    const root = { objectClass: ['top'], vendorName: ['LLDAP'], namingContexts: [SUFFIX] };
    const directory = new PolledDirectory(slapd, await PolledServer.start(tls, root));
    await directory.refresh();
    return directory;
  }

  get url(): string {
    return this.emulator.url;
  }

  get directory(): string {
    return this.slapd.directory;
  }

  async modify(ldif: string): Promise<Ended> {
    const ended = await this.slapd.modify(ldif);
    await this.refresh();
    return ended;
  }

  search(query?: Partial<LdapQuery>): Promise<string> {
    return this.slapd.search(query);
  }

  async start(): Promise<void> {
    await this.slapd.start();
    await this.refresh();
    await this.emulator.resume();
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await this.emulator.stop();
    await this.slapd.stop(signal);
  }

  async remove(): Promise<void> {
    await this.emulator.stop();
    await this.slapd.remove();
  }

  private async refresh(): Promise<void> {
    const entries = parseDump(await this.slapd.search({ attributes: ['*', 'entryUUID', 'createTimestamp'] }));
    this.emulator.entries.clear();
    for (const { dn, values } of entries) {
      const shown = [...values].filter(([name]) => !ABSENT.includes(name));
      const photo = values.get('jpegphoto')?.[0];
      const stamp: Record<string, string[]> =
        photo === undefined ? {} : { [PHOTO_STAMP]: [hash('sha256', photo)] };
      this.emulator.entries.set(dn, { ...Object.fromEntries(shown), ...stamp });
    }
  }
}
