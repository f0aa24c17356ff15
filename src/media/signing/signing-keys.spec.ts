import { nextStep, readSigningKeys } from './signing-keys.js';

const emptyStore = {
  findOrCreateKey: <Value>(_name: string, make: () => Promise<Value> | Value) => Promise.resolve(make()),
};

function storeWith(kept: unknown) {
  return { findOrCreateKey: <Value>() => Promise.resolve(kept as Value) };
}

describe('the signing keys', () => {
  it('are the configured ones, in order', async () => {
    const urlSigningKeys = [Buffer.alloc(32, 1), Buffer.alloc(40, 2)];
    const keys = await readSigningKeys({ urlSigningKeys }, storeWith({ hex: 'never read' }));
    expect([keys.signing, keys.verifyingAt(new Date())]).toEqual([urlSigningKeys[0], urlSigningKeys]);
  });

  it('are generated of 32 random bytes if none is configured', async () => {
    const { signing: first } = await readSigningKeys({ urlSigningKeys: null }, emptyStore);
    const { signing: second } = await readSigningKeys({ urlSigningKeys: null }, emptyStore);
    expect(first).toHaveLength(32);
    expect(first.equals(second)).toBe(false);
  });

  it('are stored', async () => {
    const keys = await readSigningKeys({ urlSigningKeys: null }, storeWith({ hex: 'ab'.repeat(32) }));
    expect(keys.verifyingAt(new Date())).toEqual([Buffer.alloc(32, 0xab)]);
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

describe('the rotation of the generated key', () => {
  const [A, B, C] = ['aa', 'bb', 'cc'].map((byte) => byte.repeat(32)) as [string, string, string];
  const now = Date.parse('2030-01-15T12:00:00Z');

  async function keysOf(kept: object, at = new Date(now)): Promise<string[]> {
    const keys = await readSigningKeys({ urlSigningKeys: null }, storeWith(kept));
    return keys.verifyingAt(at).map((key) => key.toString('hex'));
  }

  it('adds a key that verifies, and lets it sign in the next step', async () => {
    const added = nextStep({ hex: A }, false, B, now);
    expect([added.step, await keysOf(added.key)]).toEqual(['added', [A, B]]);
    const changed = nextStep(added.key, false, C, now);
    expect([changed.step, await keysOf(changed.key)]).toEqual(['changed', [B, A]]);
  });

  it('ends the former key after a day, or at once', async () => {
    const { key } = nextStep({ hex: A, next: B }, false, C, now);
    expect(key).toEqual({ hex: B, former: { hex: A, until: '2030-01-16T12:00:00.000Z' } });
    expect(await keysOf(key, new Date('2030-01-16T11:59:59Z'))).toEqual([B, A]);
    // In a process that runs on, too.
    expect(await keysOf(key, new Date('2030-01-16T12:00:00Z'))).toEqual([B]);
    const replaced = nextStep(key, true, C, now);
    expect([replaced.step, await keysOf(replaced.key)]).toEqual(['replaced', [C]]);
  });
});
