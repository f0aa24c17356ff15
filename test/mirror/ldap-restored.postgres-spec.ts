import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { dump, restore } from '../support/builders/dump.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { MIRROR_DN, startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { readNames, readPeople } from '../support/builders/ldap-mirror.js';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { readStatus } from '../support/clients/mirror.js';

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

/** The file of a database is a gigabyte with holes, which Node.js would fill. */
const copy = (from: string, to: string) => execFileSync('cp', ['-r', from, to]);

const BEHIND = /^The directory server is behind what is known since \d{4}-\S+Z \(server ID 0\)/;

describe('a server that is restored to an earlier state', () => {
  it.each([
    ['of a server that was stopped', 'SIGTERM'],
    ['of a running server, whose contextCSN is older than its entries', 'SIGKILL'],
  ] as const)('is followed back after a confirmation, and from there on (a copy %s)', async (_, signal) => {
    const ldif = buildLdif(['anna', 'ben', 'cleo'].map((id) => ({ id })));
    const directory = await FollowedDirectory.start({ ldif });
    try {
      const { service, slapd } = directory;
      const names = () => readNames(service);
      const data = join(slapd.directory, 'data');
      await directory.change(rename('anna', 'Anna'));
      await eventually(names, { anna: 'Anna', ben: 'ben', cleo: 'cleo' });
      const before = await readPeople(service);
      const isStopped = signal === 'SIGTERM';
      if (isStopped) await slapd.stop();
      copy(data, `${data}.before`);
      if (isStopped) await slapd.start();

      await directory.change(rename('ben', 'Ben'), `dn: ${personDn('cleo')}\nchangetype: delete\n`);
      await eventually(names, { anna: 'Anna', ben: 'Ben' });
      await slapd.stop(signal);
      rmSync(data, { recursive: true });
      copy(`${data}.before`, data);
      await slapd.start();
      const readState = async () => (await service.app.get(MirrorState).get()).state;
      const readReason = async () => (await service.app.get(MirrorState).get()).reason;
      await eventually(async () => BEHIND.test((await readReason()) ?? ''), true);
      expect(await readState()).toBe(SyncState.FAILING);
      expect(await names()).toEqual({ anna: 'Anna', ben: 'Ben' });

      await expect(service.synchronize()).rejects.toThrow(BEHIND);
      const planned = await service.synchronize({ dryRun: true });
      const confirm = planned.kind === 'planned' ? planned.hash : '';
      expect((await service.synchronize({ confirm })).kind).toBe('applied');
      await eventually(names, { anna: 'Anna', ben: 'ben', cleo: 'cleo' });
      expect(Object.keys(await readPeople(service))).toEqual(Object.keys(before));

      await directory.change(rename('cleo', 'Cleo'));
      await eventually(names, { anna: 'Anna', ben: 'ben', cleo: 'Cleo' });
      await eventually(readState, SyncState.IDLE);
      expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
    } finally {
      await directory.stop();
    }
  });
});

describe('a database that is restored while a server pushes changes', () => {
  it('gets the changes since its dump again', async () => {
    const directory = await FollowedDirectory.start(
      { ldif: buildLdif(['anna', 'ben'].map((id) => ({ id }))) },
      { DIRECTORY_SYNC_SECONDS: '1' },
    );
    try {
      const { service } = directory;
      const { database } = service.config;
      const names = () => readNames(service);
      await directory.change(rename('anna', 'Anna'));
      await eventually(names, { anna: 'Anna', ben: 'ben' });
      const backup = await dump(database.url);
      await directory.change(rename('ben', 'Ben'));
      await eventually(names, { anna: 'Anna', ben: 'Ben' });
      await restore(database.url, backup);
      await eventually(names, { anna: 'Anna', ben: 'Ben' });
      await directory.change(rename('anna', 'Anne'));
      await eventually(names, { anna: 'Anne', ben: 'Ben' });
    } finally {
      await directory.stop();
    }
  });
});

describe('a server whose contextCSN disappears', () => {
  it('is used again after one and a half intervals of scans, and then each change is followed', async () => {
    const reader = `dn.exact="${MIRROR_DN}"`;
    const acl = [
      'access to attrs=userPassword by anonymous auth by * none',
      'access to attrs=contextCSN by * none',
      `access to * by ${reader} read by * none`,
    ];
    const options = { ldif: buildLdif([{ id: 'anna' }]) };
    const directory = await FollowedDirectory.start(options, { DIRECTORY_SCAN_SECONDS: '2' });
    const { slapd, service } = directory;
    let restarted: TestSlapd | undefined;
    try {
      const names = () => readNames(service);
      await eventually(names, { anna: 'anna' });
      await slapd.stop();
      restarted = await startSlapd({ ...options, directory: slapd.directory, port: slapd.port, acl });
      const server = restarted;
      for (const name of ['Anna', 'Anne', 'Ann']) {
        await server.modify(rename('anna', name));
        await eventually(names, { anna: name });
      }
      expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
    } finally {
      await restarted?.stop();
      await directory.stop();
    }
  });
});
