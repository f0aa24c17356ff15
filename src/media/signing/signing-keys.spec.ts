import { readSigningKeys } from './signed-urls.js';

const emptyStore = {
  findOrCreate: <Value>(_name: string, make: () => Promise<Value> | Value) => Promise.resolve(make()),
};

function storeWith(kept: unknown) {
  return { findOrCreate: <Value>() => Promise.resolve(kept as Value) };
}

describe('the signing keys', () => {
  it('are the configured ones, in order', async () => {
    const urlSigningKeys = [Buffer.alloc(32, 1), Buffer.alloc(40, 2)];
    expect(await readSigningKeys({ urlSigningKeys }, storeWith({ hex: 'never read' }))).toEqual(
      urlSigningKeys,
    );
  });

  it('are generated of 32 random bytes if none is configured', async () => {
    const [first] = await readSigningKeys({ urlSigningKeys: null }, emptyStore);
    const [second] = await readSigningKeys({ urlSigningKeys: null }, emptyStore);
    expect(first).toHaveLength(32);
    expect(first.equals(second)).toBe(false);
  });

  it('are stored', async () => {
    const keys = await readSigningKeys({ urlSigningKeys: null }, storeWith({ hex: 'ab'.repeat(32) }));
    expect(keys).toEqual([Buffer.alloc(32, 0xab)]);
  });

  it.each([{}, { hex: '' }, { hex: 'ab' }, { hex: 7 }, { hex: 'zz'.repeat(32) }])(
    'are rejected with a remedy when damaged: %p',
    async (kept) => {
      await expect(readSigningKeys({ urlSigningKeys: null }, storeWith(kept))).rejects.toThrow(
        /url-signing .* damaged\. Delete its row/,
      );
    },
  );
});
