import fc from 'fast-check';
import { escapeDnValue } from '../naming/dn.js';
import { Entry } from '../entry.js';
import { LdifError, readLdif } from './ldif.js';

/** Decides how a file is written and split, from a list of numbers that it uses in turn. */
type Choices = () => number;

const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 50 });

function inTurn(numbers: readonly number[]): Choices {
  let index = 0;
  return () => numbers[index++ % numbers.length] ?? 0;
}

const name = fc.constantFrom('cn', 'sn', 'mail', 'jpegPhoto', 'cn;lang-fr', '2.5.4.4');
const value = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary', maxLength: 100 }).map((text) => Buffer.from(text)),
);
const attributes = fc.uniqueArray(fc.tuple(name, fc.array(value, { minLength: 1, maxLength: 3 })), {
  selector: ([description]) => description,
});
const entries = fc
  .uniqueArray(fc.tuple(fc.nat({ max: 1000 }), fc.string({ unit: 'binary' }), attributes), {
    selector: ([id]) => id,
  })
  .map((list) => list.map(([id, text, pairs]) => new Entry(`uid=${id},cn=${escapeDnValue(text)}`, pairs)));

function writeLdif(list: readonly Entry[], choose: Choices): Buffer {
  const lineEnd = choose() % 2 === 0 ? '\n' : '\r\n';
  const lines: Buffer[] = choose() % 2 === 0 ? [] : [Buffer.from('version: 1')];
  for (const entry of list) {
    lines.push(Buffer.alloc(0), writeValue('dn', Buffer.from(entry.dn), choose));
    for (const [description, values] of entry.attributes) {
      lines.push(...values.map((bytes) => writeValue(description, bytes, choose)));
    }
    lines.push(choose() % 3 === 0 ? Buffer.from('# a comment') : Buffer.alloc(0));
  }
  const folded = lines.flatMap((line) => [...fold(line, lineEnd, choose), Buffer.from(lineEnd)]);
  return Buffer.concat(choose() % 2 === 0 ? folded : folded.slice(0, -1));
}

function writeValue(description: string, bytes: Buffer, choose: Choices): Buffer {
  const mustEncode = /^[ :<]|[\0\r\n]/.test(bytes.toString('latin1'));
  return mustEncode || choose() % 2 === 0
    ? Buffer.from(`${description}:: ${bytes.toString('base64')}`)
    : Buffer.concat([Buffer.from(`${description}: `), bytes]);
}

function fold(line: Buffer, lineEnd: string, choose: Choices): Buffer[] {
  const pieces: Buffer[] = [];
  for (let start = 0; start < line.length;) {
    const end = start + 1 + (choose() % 80);
    pieces.push(Buffer.from(start === 0 ? '' : `${lineEnd} `), line.subarray(start, end));
    start = end;
  }
  return pieces;
}

function* cut(bytes: Buffer, choose: Choices): Generator<Buffer> {
  for (let start = 0; start < bytes.length;) {
    const end = start + (choose() % 40);
    yield bytes.subarray(start, end);
    start = end === start ? start + 1 : end;
    if (end < start) {
      yield bytes.subarray(end, start);
    }
  }
}

async function readAll(chunks: Iterable<Buffer>): Promise<Entry[]> {
  const read: Entry[] = [];
  for await (const entry of readLdif(chunks)) {
    read.push(entry);
  }
  return read;
}

describe('readLdif', () => {
  it('reads any written records, folded and split anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(entries, choices, async (list, numbers) => {
        const choose = inTurn(numbers);
        const bytes = writeLdif(list, choose);
        expect(await readAll(cut(bytes, choose))).toEqual(list);
      }),
      { numRuns: 300 },
    );
  });

  it('throws LdifError only', async () => {
    const pieces = fc.oneof(
      fc.constantFrom(
        ...['dn: cn=a\n', 'dn:', 'a', ':', ' ', '\n', '\r', '\0', '<', '=', 'version: 1\n', '#', '\ufeff'],
      ),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    const garbage = fc.oneof(
      fc.array(pieces).map((list) => Buffer.from(list.join(''))),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(garbage, choices, async (bytes, numbers) => {
        try {
          await readAll(cut(bytes, inTurn(numbers)));
        } catch (error) {
          expect(error).toBeInstanceOf(LdifError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
