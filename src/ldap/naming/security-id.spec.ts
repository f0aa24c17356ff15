import { parseSid, primaryGroupSid } from './security-id.js';

const sid = (authority: number, ...parts: number[]) => {
  const bytes = Buffer.alloc(8 + 4 * parts.length);
  bytes.writeUInt8(1, 0);
  bytes.writeUInt8(parts.length, 1);
  bytes.writeUIntBE(authority, 2, 6);
  parts.forEach((part, index) => bytes.writeUInt32LE(part, 8 + 4 * index));
  return bytes;
};
const ANN = sid(5, 21, 2770840527, 2004397937, 3342782979, 1103);

describe('parseSid', () => {
  it.each([
    [ANN.toString('hex'), 'S-1-5-21-2770840527-2004397937-3342782979-1103'],
    // BUILTIN\Administrators, and Everyone ([MS-DTYP] 2.4.2.4).
    ['01020000000000052000000020020000', 'S-1-5-32-544'],
    ['010100000000000100000000', 'S-1-1-0'],
  ])('reads %s', (hex, text) => {
    expect(parseSid(Buffer.from(hex, 'hex'))).toBe(text);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['another revision', Buffer.concat([Buffer.of(2), ANN.subarray(1)])],
    ['a missing part', ANN.subarray(0, -4)],
    ['a part too many', Buffer.concat([ANN, Buffer.alloc(4)])],
    ['no part', sid(5)],
    ['16 parts', sid(5, ...Array.from({ length: 16 }, () => 1))],
    ['text', Buffer.from('S-1-5-32-544')],
  ])('rejects %s', (_, bytes) => {
    expect(parseSid(bytes)).toBeNull();
  });
});

describe('primaryGroupSid', () => {
  it('is of the domain of the user', () => {
    expect(primaryGroupSid(ANN, '513')).toBe('S-1-5-21-2770840527-2004397937-3342782979-513');
  });

  it.each(['', '0', '-1', '1.5', '4294967296', '513 ', 'a'])('rejects the RID «%s»', (rid) => {
    expect(primaryGroupSid(ANN, rid)).toBeNull();
  });

  it('rejects users that are of no domain', () => {
    expect(primaryGroupSid(sid(5, 32, 544), '513')).toBeNull();
    expect(primaryGroupSid(ANN.subarray(1), '513')).toBeNull();
  });
});
