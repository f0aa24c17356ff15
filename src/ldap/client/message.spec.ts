import fc from 'fast-check';
import { LdapProtocolError } from './ldap-error.js';
import { MessageFrames } from './message.js';

/**
 * A message with the given number of content bytes, and the given number of length octets (0 for the short
 * form).
 */
function frame(length: number, octets: number): Buffer {
  const head = Buffer.alloc(2 + octets);
  head[0] = 0x30;
  if (octets === 0) head[1] = length;
  else {
    head[1] = 0x80 | octets;
    head.writeUIntBE(length, 2, octets);
  }
  return Buffer.concat([head, Buffer.alloc(length, length & 0xff)]);
}

const frames = fc.array(
  fc.oneof(
    fc.nat(127).map((length) => frame(length, 0)),
    fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 4 })).map(([length, octets]) => frame(length, octets)),
    fc.tuple(fc.nat(2000), fc.integer({ min: 2, max: 4 })).map(([length, octets]) => frame(length, octets)),
  ),
  { maxLength: 20 },
);

describe('MessageFrames', () => {
  it('finds messages at any chunk boundaries', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 700 })), (written, sizes) => {
        const bytes = Buffer.concat(written);
        const cutter = new MessageFrames();
        const found: Buffer[] = [];
        for (let start = 0, index = 0; start < bytes.length; index++) {
          const end = start + (sizes[index % (sizes.length || 1)] ?? bytes.length);
          found.push(...cutter.push(bytes.subarray(start, end)));
          start = end;
        }
        expect(found).toEqual(written);
        expect(cutter.isEmpty).toBe(true);
      }),
    );
  });

  it('copies the bytes of every message', () => {
    const chunk = Buffer.concat([frame(3, 0), frame(4, 0)]);
    const [first, second] = [...new MessageFrames().push(chunk)];
    chunk.fill(0);
    expect(first).toEqual(frame(3, 0));
    expect(second).toEqual(frame(4, 0));
  });

  it('accepts a message of the maximum size, and rejects larger ones', () => {
    const largest = frame(1000, 2);
    expect([...new MessageFrames(largest.length).push(largest)]).toEqual([largest]);
    for (const claim of [frame(1001, 2).subarray(0, 4), Buffer.of(0x30, 0x84, 0xff, 0xff, 0xff, 0xff)]) {
      expect(() => [...new MessageFrames(largest.length).push(claim)]).toThrow(LdapProtocolError);
    }
  });

  it('allocates memory for received bytes, not for the claimed length', () => {
    const before = process.memoryUsage().arrayBuffers;
    const waiting = Array.from({ length: 100 }, () => {
      const cutter = new MessageFrames();
      expect([...cutter.push(Buffer.of(0x30, 0x84, 0x03, 0xff, 0xff, 0xf0, 0x02))]).toEqual([]);
      return cutter;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
    expect(waiting.some(({ isEmpty }) => isEmpty)).toBe(false);
  });

  it('rejects any other beginning', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2 }), (bytes) => {
        fc.pre(bytes[0] !== 0x30);
        expect(() => [...new MessageFrames().push(Buffer.from(bytes))]).toThrow(LdapProtocolError);
      }),
    );
  });
});
