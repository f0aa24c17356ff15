import { parseUpToDateVector } from './up-to-date-vector.js';

const IDS = ['00112233445566778899aabbccddeeff', 'ffeeddccbbaa99887766554433221100'] as const;

function vectorOf(version: number, size: number, count: number = IDS.length): Buffer {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(version, 0);
  header.writeUInt32LE(count, 8);
  const cursors = IDS.map((id, index) => {
    const cursor = Buffer.alloc(size);
    cursor.write(id, 'hex');
    cursor.writeBigUInt64LE(BigInt(7 + index), 16);
    return cursor;
  });
  return Buffer.concat([header, ...cursors]);
}

describe('the vector of a naming context', () => {
  it.each([
    [1, 24],
    [2, 32],
  ])('of version %i has a number for each domain controller', (version, size) => {
    expect(parseUpToDateVector(vectorOf(version, size))).toEqual(
      new Map([
        [IDS[0], 7],
        [IDS[1], 8],
      ]),
    );
  });

  it.each([
    ['none', Buffer.alloc(0)],
    ['too few bytes', vectorOf(2, 32).subarray(0, 79)],
    ['more cursors than bytes', vectorOf(2, 32, 0xffffffff)],
    ['an unknown version', vectorOf(3, 32)],
  ])('is not parsed from %s', (_, bytes) => {
    expect(parseUpToDateVector(bytes)).toBeNull();
  });
});
