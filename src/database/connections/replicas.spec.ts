import pg from 'pg';
import { CurrentRevision } from '../revisions/revision.js';
import { Replicas } from './replicas.js';

describe('read replicas', () => {
  it('are not used, without cost, if none are configured', () => {
    const revision = new CurrentRevision();
    const primary = { pool: new pg.Pool() };
    const server = {
      embedded: null,
      url: 'postgres://127.0.0.1/directory',
      poolSize: 1,
      previewPoolSize: 1,
      timeoutSeconds: 5,
    } as const;
    expect(Replicas.of({ ...server, replicaUrls: [] }, revision, primary)).toBeNull();
    const two = Replicas.of(
      { ...server, replicaUrls: ['postgres://a/directory', 'postgres://b/directory'] },
      revision,
      primary,
    );
    // No revision is known yet, so no replica is used.
    expect(two?.count).toEqual({ all: 2, current: 0 });
  });
});
