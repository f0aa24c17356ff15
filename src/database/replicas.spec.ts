import { CurrentRevision } from './current-revision.js';
import { Replicas } from './replicas.js';

describe('read replicas', () => {
  it('are none, and cost nothing, where none are named', () => {
    const revision = new CurrentRevision();
    const server = {
      kind: 'postgres',
      url: 'postgres://127.0.0.1/directory',
      poolSize: 1,
      previewPoolSize: 1,
    } as const;
    expect(Replicas.of({ ...server, replicaUrls: [] }, revision)).toBeNull();
    expect(Replicas.of({ kind: 'pglite', directory: 'mirror' }, revision)).toBeNull();
    const two = Replicas.of(
      { ...server, replicaUrls: ['postgres://a/directory', 'postgres://b/directory'] },
      revision,
    );
    // Nothing is known yet, and so nobody is asked.
    expect(two?.count).toEqual({ all: 2, current: 0 });
  });
});
