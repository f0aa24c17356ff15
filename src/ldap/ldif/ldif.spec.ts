import { type Entry } from '../entry.js';
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

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('readLdif', () => {
  it('reads records, with or without a version, blank lines and a last line feed', async () => {
    const records = 'dn: uid=ann,dc=a\ncn: Ann\ncn: Anna\n\n\n\ndn: uid=bob,dc=a\ncn: Bob';
    for (const content of [records, `version: 1\n${records}\n`, `\n\nversion: 1\n\n${records}\n\n`]) {
      const entries = await read(content);
      expect(entries.map((entry) => [entry.dn, entry.text('cn')])).toEqual([
        ['uid=ann,dc=a', ['Ann', 'Anna']],
        ['uid=bob,dc=a', ['Bob']],
      ]);
    }
  });

  it('reads nothing from a file without records', async () => {
    for (const content of ['', '\n', 'version: 1', '# nothing\n', '\ufeff']) {
      expect(await read(content)).toEqual([]);
    }
  });

  it('reads the same with any chunks', async () => {
    const content = Buffer.from(
      `\ufeffversion: 1\r\n# a fol\r\n ded comment: é\r\ndn:: ${base64('cn=É,dc=a')}\r\nsn: fol\r\n ded  \r\ncn:: w6\r\n lsb2RpZQ==\r\n\r\ndn: cn=b\r\nsn: b`,
    );
    // The last split puts a fold between the two bytes of a character.
    const split = Buffer.concat([content, Buffer.from([0xc3, 0x0a, 0x20, 0xa9, 0x0a])]);
    for (let chunkBytes = 1; chunkBytes <= split.length; chunkBytes += 1) {
      const entries = await read(split, chunkBytes);
      expect(entries.map((entry) => [entry.dn, entry.text('sn'), entry.text('cn')])).toEqual([
        ['cn=É,dc=a', ['folded  '], ['élodie']],
        ['cn=b', ['bé'], []],
      ]);
    }
  });

  it.each([
    ['a value', 'a: b', 'b'],
    ['an empty value', 'a:', ''],
    ['an empty value after spaces', 'a:   ', ''],
    ['an empty value in base64', 'a::', ''],
    ['a value without a space before it', 'a:b', 'b'],
    ['leading spaces, which are not part of a value', 'a:   b', 'b'],
    ['trailing spaces, which are', 'a: b  ', 'b  '],
    ['colons in a value', 'a: b: c::d', 'b: c::d'],
    ['UTF-8 that is not in base64', 'a: é', 'é'],
    ['base64 after spaces', 'a::  Yg==', 'b'],
    ['a fold right after the attribute', 'a\n : b', 'b'],
    ['a fold that holds nothing', 'a: b\n ', 'b'],
    ['an attribute given as an OID', '1.2.3: b', 'b', '1.2.3'],
    ['an option', 'a;lang-fr: b', 'b', 'a;lang-fr'],
    ['an attribute in another case', 'A: b', 'b'],
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

  it('returns values that do not change during further reading', async () => {
    const chunk = Buffer.from('dn: cn=x\na: one\n\ndn: cn=y\na: two\n\n');
    const reader = readLdif([chunk]);
    const first = await reader.next();
    chunk.fill(0x78);
    expect(first.done === true ? null : first.value.text('a')).toEqual(['one']);
  });

  it.each([
    ['an attribute without a record', 'cn: a', 1],
    ['the trailer of ldapsearch', 'dn: cn=x\n\nsearch: 2\nresult: 0 Success', 3],
    ['a version other than 1', '# x\nversion: 2', 2],
    ['a version after the first record', 'dn: cn=x\n\nversion: 1', 3],
    ['a second version', 'version: 1\nversion: 1', 2],
    ['a second dn in one record', 'dn: cn=x\na: b\ndn: cn=y', 3],
    ['a malformed dn', 'dn: x', 1],
    ['a dn that is not UTF-8', 'dn:: Y249/w==', 1],
    ['an overlong dn', `dn: cn=${'a'.repeat(70_000)}`, 1],
    ['a change record', 'dn: cn=x\nchangetype: delete', 2],
    ['a control', 'dn: cn=x\ncontrol: 1.2', 2],
    ['a dn by URL', 'dn:< file:///x', 1],
    ['a version by URL', 'version:< file:///x', 1],
    ['a line without a colon', 'dn: cn=x\n-', 2],
    ['a line of spaces', 'dn: cn=x\n\n  \n', 3],
    ['a continuation at the beginning', ' a: b', 1],
    ['an invalid attribute', 'dn: cn=x\n_a: b', 2],
    ['an attribute that is a range', 'dn: cn=x\nmember;range=0-1499: b', 2],
    ['an attribute without a name', 'dn: cn=x\n: b', 2],
    ['an attribute with an overlong name', `dn: cn=x\n${'a'.repeat(5000)}: b`, 2],
    ['a space before the colon', 'dn: cn=x\na : b', 2],
    ['base64 with a foreign character', 'dn: cn=x\na:: YW_-', 2],
    ['base64 without its padding', 'dn: cn=x\na:: Yg', 2],
    ['base64 with too much padding', 'dn: cn=x\na:: Y===', 2],
    ['base64 with padding inside', 'dn: cn=x\na:: Yg==Yg==', 2],
    ['base64 with a space at the end', 'dn: cn=x\na:: Yg== ', 2],
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
});
