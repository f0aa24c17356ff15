import fc from 'fast-check';
import { Entry } from '../entry.js';
import { escapeDnValue } from '../naming/dn.js';
import { LdifError, readLdif } from './ldif.js';

function read(content: string | Buffer, chunkBytes = 1 << 16): Promise<Entry[]> {
  const bytes = Buffer.from(content);
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    chunks.push(bytes.subarray(start, start + chunkBytes));
  }
  return collect(readLdif(chunks));
}

async function collect(reader: AsyncIterable<Entry>): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of reader) {
    entries.push(entry);
  }
  return entries;
}

async function readError(content: string | Buffer): Promise<LdifError> {
  const error: unknown = await read(content).catch((reason: unknown) => reason);
  if (!(error instanceof LdifError)) {
    throw new Error('the content was not refused', { cause: error });
  }
  return error;
}

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

describe('readLdif', () => {
  it('reads records, with or without a version, blank lines and a last line feed', async () => {
    const records = 'dn: uid=ann,dc=a\ncn: Ann\ncn: Anna\n\n\n\ndn: uid=bob,dc=a\ncn: Bob';
    for (const content of [records, `\ufeffversion: 1\n${records}\n`, `\n\nversion: 1\n\n${records}\n\n`]) {
      const entries = await read(content);
      expect(entries.map((entry) => [entry.dn, entry.text('cn')])).toEqual([
        ['uid=ann,dc=a', ['Ann', 'Anna']],
        ['uid=bob,dc=a', ['Bob']],
      ]);
    }
  });

  it.each([
    ['an empty value', 'a:', ''],
    ['an empty value in base64', 'a::', ''],
    ['a value without a space before it', 'a:b', 'b'],
    ['trailing spaces, which are', 'a: b  ', 'b  '],
    ['colons in a value', 'a: b: c::d', 'b: c::d'],
    ['base64 after spaces', 'a::  Yg==', 'b'],
    ['a fold right after the attribute', 'a\n : b', 'b'],
    ['an attribute given as an OID', '1.2.3: b', 'b', '1.2.3'],
    ['an option', 'a;lang-fr: b', 'b', 'a;lang-fr'],
    ['a comment between attributes', '# x\n y\na: b', 'b'],
  ])('reads %s', async (_, line, value, name = 'a') => {
    const [entry] = await read(`dn: cn=x\n${line}\n`);
    expect(entry?.text(name)).toEqual([value]);
  });

  it('keeps bytes that are not UTF-8 for the caller', async () => {
    const [entry] = await read(Buffer.from('dn: cn=x\na: \xff', 'latin1'));
    expect(entry?.bytes('a')).toEqual([Buffer.from([0xff])]);
  });

  it('reads the root entry, and a record that has only a dn', async () => {
    expect((await read('dn:\ncn: a\n\ndn: cn=x\n')).map((entry) => entry.dn)).toEqual(['', 'cn=x']);
  });

  it.each([
    ['an attribute without a record', 'cn: a', 1],
    ['the trailer of ldapsearch', 'dn: cn=x\n\nsearch: 2\nresult: 0 Success', 3],
    ['a version other than 1', '# x\nversion: 2', 2],
    ['a second version', 'version: 1\nversion: 1', 2],
    ['a second dn in one record', 'dn: cn=x\na: b\ndn: cn=y', 3],
    ['a malformed dn', 'dn: x', 1],
    ['an overlong dn', `dn: cn=${'a'.repeat(70_000)}`, 1],
    ['a change record', 'dn: cn=x\nchangetype: delete', 2],
    ['a control', 'dn: cn=x\ncontrol: 1.2', 2],
    ['a dn by URL', 'dn:< file:///x', 1],
    ['a line without a colon', 'dn: cn=x\n-', 2],
    ['a continuation at the beginning', ' a: b', 1],
    ['an invalid attribute', 'dn: cn=x\n_a: b', 2],
    ['an attribute that is a range', 'dn: cn=x\nmember;range=0-1499: b', 2],
    ['an attribute with an overlong name', `dn: cn=x\n${'a'.repeat(5000)}: b`, 2],
    ['base64 with a foreign character', 'dn: cn=x\na:: YW_-', 2],
    ['base64 without its padding', 'dn: cn=x\na:: Yg', 2],
    ['base64 with padding inside', 'dn: cn=x\na:: Yg==Yg==', 2],
    ['a NUL', 'dn: cn=x\na: b\n c\0', 3],
    ['a carriage return inside a line', 'dn: cn=x\na: b\rc: d', 2],
  ])('rejects %s, and names the line', async (_, content, line) => {
    const error = await readError(content);
    expect(error.line).toBe(line);
    expect(error.message).toMatch(new RegExp(`^LDIF line ${line}: [a-z]`));
  });

  it('leaves out values by URL, and says of which attributes', async () => {
    const [entry, other] = await read(
      'dn: cn=x\nA;binary:< file:///etc/passwd\nb: c\na: d\n\ndn: cn=y\na: b\n',
    );
    expect([entry?.text('a'), entry?.text('b')]).toEqual([['d'], ['c']]);
    expect([[...(entry?.withUrls ?? [])], [...(other?.withUrls ?? [])]]).toEqual([['a'], []]);
  });

  it('never repeats content of the file in an error', async () => {
    for (const line of [
      'secret',
      'secret_: a',
      'dn:< secret',
      'a:: secret!',
      'dn: secret',
      'changetype: secret',
    ]) {
      expect((await readError(`dn: cn=x\n${line}`)).message).not.toContain('secret');
      expect((await readError(line)).message).not.toContain('secret');
    }
  });

  it('passes on errors of the source', async () => {
    // eslint-disable-next-line @typescript-eslint/require-await -- a source is asynchronous
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('dn: cn=x\n');
      throw new RangeError('disk');
    }
    await expect(collect(readLdif(broken()))).rejects.toThrow(RangeError);
  });

  it('reads any written records, folded and split anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(entries, choices, async (list, numbers) => {
        const choose = inTurn(numbers);
        const bytes = writeLdif(list, choose);
        expect(await collect(readLdif(cut(bytes, choose)))).toEqual(list);
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
          await collect(readLdif(cut(bytes, inTurn(numbers))));
        } catch (error) {
          expect(error).toBeInstanceOf(LdifError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
