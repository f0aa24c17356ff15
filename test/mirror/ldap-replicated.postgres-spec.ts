import { DataSource } from 'typeorm';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { expectMirror, parseDump } from '../support/builders/ldap-content.js';
import { readMirror } from '../support/builders/ldap-mirror.js';
import { eventually, isEqual } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { TestProxy } from '../support/servers/proxy.js';
import { ReplicatedSlapd } from '../support/servers/replicated-slapd.js';
import { TestService } from '../support/servers/service.js';

const modify = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

it('a consumer that lags behind its provider is skipped in favor of the next server that is up to date', async () => {
  const slapd = await ReplicatedSlapd.start(
    [{ serverId: 1, isProvider: true }, { isProvider: false }, { isProvider: false }],
    { ldif: buildLdif(['anna', 'ben', 'eva'].map((id) => ({ id }))) },
  );
  const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.at(0).port });
  const service = await TestService.start({
    environment: { ...directorySettings(slapd.at(0)), DIRECTORY_URL: `${proxy.url} ${slapd.at(2).url}` },
  });
  const untilEqual = async (index: number) => {
    const dump = await slapd.at(index).search({ attributes: ['*', 'entryUUID'] });
    const wanted = expectMirror(parseDump(dump));
    await eventually(async () => isEqual(await readMirror(service.app.get(DataSource)), wanted), true);
    await eventually(async () => (await service.app.get(MirrorState).get()).state, SyncState.IDLE);
  };
  try {
    slapd.hold(1);
    await slapd.change(0, modify('anna', 'Anna Berg'));
    await untilEqual(0);
    await slapd.converge([0, 2]);
    proxy.use(slapd.at(1).port);
    await slapd.change(0, modify('ben', 'Ben Berg'), `dn: ${personDn('eva')}\nchangetype: delete\n`);
    await slapd.converge([0, 2]);
    await untilEqual(2);

    // Alone, and without a difference that the mirror has, it does not replace what is known either.
    slapd.release(1);
    await slapd.converge();
    slapd.hold(1);
    proxy.use(slapd.at(0).port);
    const single = await TestService.start({
      environment: { ...directorySettings(slapd.at(0)), DIRECTORY_URL: proxy.url },
    });
    try {
      const readCsns = async () => {
        const text = 'select context_csns as csns from mirror_state';
        const [state] = await single.app.get(DataSource).query<{ csns: string[] }[]>(text);
        return state?.csns ?? [];
      };
      const before = await readCsns();
      await slapd.change(
        0,
        `dn: ${personDn('anna')}\nchangetype: modify\nreplace: carLicense\ncarLicense: B\n`,
      );
      await eventually(async () => isEqual(await readCsns(), before), false);
      const known = await readCsns();
      proxy.use(slapd.at(1).port);
      expect((await single.synchronize()).kind).toBe('unchanged');
      expect(await readCsns()).toEqual(known);
    } finally {
      await single.stop();
    }
  } finally {
    await service.stop();
    await proxy.stop();
    await slapd.stop();
  }
});
