import { Replicas } from './replicas.js';

describe('read replicas', () => {
  it('are none, and cost nothing, where none are named', () => {
    const server = {
      kind: 'postgres',
      url: 'postgres://127.0.0.1/directory',
      poolSize: 1,
      previewPoolSize: 1,
    } as const;
    expect(Replicas.of({ ...server, replicaUrls: [] })).toBeNull();
    expect(Replicas.of({ kind: 'pglite', directory: 'mirror' })).toBeNull();
    const two = Replicas.of({ ...server, replicaUrls: ['postgres://a/directory', 'postgres://b/directory'] });
    // Nothing is known yet, and so nobody is asked.
    expect(two?.count).toEqual({ all: 2, current: 0 });
  });
});
