import { DataSource } from 'typeorm';
import { Database } from '../../src/database/database.js';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { Leadership } from '../../src/mirror/sync/leadership.js';
import { buildLdif } from '../support/builders/directory.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

describe('the state of the mirror after a run without a result', () => {
  let directory: FollowedDirectory;
  let state: MirrorState;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({ ldif: buildLdif([{ id: 'anna' }]) });
    const { app } = directory.service;
    state = new MirrorState(app.get(Database), app.get(DataSource), Leadership.ofCommand());
  });

  afterAll(async () => {
    await directory.stop();
  });

  it.each<[what: string, before: SyncState, since: SyncState, after: SyncState]>([
    ['the one before', SyncState.BLOCKED, SyncState.RUNNING, SyncState.BLOCKED],
    ['the result of another run', SyncState.BLOCKED, SyncState.IDLE, SyncState.IDLE],
    ['the state of a run that has not ended', SyncState.RUNNING, SyncState.RUNNING, SyncState.RUNNING],
    ['the result of a run that was running before', SyncState.RUNNING, SyncState.IDLE, SyncState.IDLE],
  ])('is %s', async (_, before, since, after) => {
    const status = { ...(await state.get()), state: before };
    await state.dataSource.query('update mirror_state set state = $1', [since]);
    await state.restore(status);
    expect((await state.get()).state).toBe(after);
  });
});
