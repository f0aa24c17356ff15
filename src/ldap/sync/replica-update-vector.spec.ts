import { parseReplicaUpdateVector } from './replica-update-vector.js';

const GENERATION = '{replicageneration} 6b044a1a000000010000';

describe('the vector of a replicated database', () => {
  it('has the order of the newest change of each replica', () => {
    const vector = parseReplicaUpdateVector([
      GENERATION,
      '{replica 1 ldap://localhost:389} 6b044a1a000100010000 6b044a1d000200010000',
      '{replica 2} 6b044a1a000100020000 6b044a1e000100020000 00000000',
      '{replica 3 ldap://other:389}',
    ]);
    expect(vector).toEqual(
      new Map([
        ['6b044a1a000000010000/1', 0x6b044a1d0002],
        ['6b044a1a000000010000/2', 0x6b044a1e0001],
      ]),
    );
    expect([...(vector?.values() ?? [])].every(Number.isSafeInteger)).toBe(true);
  });

  it.each([
    ['none', []],
    ['values of something else', ['7', '']],
    ['values without a generation', ['{replica 1} 6b044a1a000100010000 6b044a1d000200010000']],
  ])('is not parsed from %s', (_, values) => {
    expect(parseReplicaUpdateVector(values)).toBeNull();
  });
});
