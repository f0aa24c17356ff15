import { MemoryAdapter } from './memory-adapter.js';

describe('the store of the embedded provider', () => {
  it('finds an artifact by its id, its uid and its user code', async () => {
    const adapter = new MemoryAdapter('Session');
    await adapter.upsert('a', { uid: 'u', userCode: 'BCDF' }, 60);
    await adapter.upsert('b', {}, 60);
    const found = [
      await adapter.find('a'),
      await adapter.findByUid('u'),
      await adapter.findByUserCode('BCDF'),
    ];
    expect(found).toEqual(Array.from({ length: 3 }, () => ({ uid: 'u', userCode: 'BCDF' })));
    expect(await adapter.findByUid('nobody')).toBeUndefined();
  });

  it('deletes an artifact after its expiry', async () => {
    const adapter = new MemoryAdapter('Session');
    await adapter.upsert('a', {}, 0.02);
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(await adapter.find('a')).toBeUndefined();
  });

  it('keeps the artifacts that were used last above its capacity', async () => {
    const adapter = new MemoryAdapter('Session', 2);
    for (const id of ['a', 'b', 'c']) await adapter.upsert(id, { uid: id }, 60);
    expect(await Promise.all(['a', 'b', 'c'].map((id) => adapter.find(id)))).toEqual([
      undefined,
      { uid: 'b' },
      { uid: 'c' },
    ]);
  });

  it('keeps artifacts up to a total size', async () => {
    const adapter = new MemoryAdapter('Session', 100, 1000);
    for (const id of ['a', 'b', 'c']) await adapter.upsert(id, { uid: id, nonce: id.repeat(400) }, 60);
    const found = await Promise.all(['a', 'b', 'c'].map((id) => adapter.find(id)));
    expect(found.map((each) => each?.uid)).toEqual([undefined, 'b', 'c']);
    await adapter.upsert('d', { nonce: 'd'.repeat(1001) }, 60);
    expect(await adapter.find('d')).toBeUndefined();
    expect((await adapter.find('c'))?.uid).toBe('c');
  });

  it('records that an artifact was used', async () => {
    const adapter = new MemoryAdapter('Session');
    await adapter.upsert('a', {}, 60);
    await adapter.consume('a');
    expect(await adapter.find('a')).toEqual({ consumed: expect.any(Number) as number });
  });

  it('allows one use of an artifact, even by concurrent requests', async () => {
    const adapter = new MemoryAdapter('AuthorizationCode');
    await adapter.upsert('a', {}, 60);
    const used = await Promise.allSettled([adapter.consume('a'), adapter.consume('a')]);
    expect(used.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('keeps a device code for a while after its expiry', async () => {
    const adapter = new MemoryAdapter('DeviceCode');
    await adapter.upsert('a', { userCode: 'BCDF' }, 0.02);
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(await adapter.find('a')).toEqual({ userCode: 'BCDF' });
  });

  it('revokes all artifacts of a grant, and no others', async () => {
    const adapter = new MemoryAdapter('Session');
    await adapter.upsert('a', { grantId: 'g' }, 60);
    await adapter.upsert('b', { grantId: 'h' }, 60);
    await adapter.upsert('c', { grantId: 'g' }, 60);
    await adapter.revokeByGrantId('g');
    expect(await Promise.all(['a', 'b', 'c'].map((id) => adapter.find(id)))).toEqual([
      undefined,
      { grantId: 'h' },
      undefined,
    ]);
  });
});
