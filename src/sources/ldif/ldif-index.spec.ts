import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { SourceError } from '../source.error.js';
import { LdifIndex } from './ldif-index.js';
import { LdifSource } from './ldif-source.js';

const uuidOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

function recordOf(index: number, name = `Person ${index}`, uuid = uuidOf(index)): string {
  return `dn: uid=p${index},ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: p${index}
cn: ${name}
entryUUID: ${uuid}
`;
}

function groupOf(members: number): string {
  const lines = Array.from(
    { length: members },
    (_, index) => `member: uid=p${index},ou=people,dc=example,dc=org\n`,
  );
  return `dn: cn=all,ou=groups,dc=example,dc=org\nobjectClass: groupOfNames\ncn: all\nentryUUID: ${uuidOf(9999)}\n${lines.join('')}`;
}

const OTHER = 'dn: ou=people,dc=example,dc=org\nobjectClass: organizationalUnit\nou: people\n';

describe('an index of a file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'index-'));
  const file = join(directory, 'directory.ldif');
  const { signal } = new AbortController();
  const source = new LdifSource(builtInConfig().directory, { kind: 'file', file });
  const records = Array.from({ length: 2000 }, (_, index) => recordOf(index));

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  async function indexOf(texts: readonly string[]): Promise<LdifIndex> {
    writeFileSync(file, `version: 1\n\n${texts.join('\n')}`);
    const index = await LdifIndex.read(source, signal);
    if (index === null) throw new Error('The file is not indexed');
    return index;
  }

  async function changesTo(texts: readonly string[]) {
    const index = await indexOf(records);
    writeFileSync(file, `version: 1\n\n${texts.join('\n')}`);
    const changes = await index.readChanges(signal);
    if (changes === null) return null;
    const [first = ''] = changes.delta.people.keys();
    const again = await changes.readAgain([uuidOf(1999), first]);
    await changes.close();
    return { ...changes, again };
  }

  it('finds the one record of a user that changed, among 2,000', async () => {
    const changes = await changesTo(records.with(1000, recordOf(1000, 'Zoë')));
    expect([...(changes?.delta.people.keys() ?? [])]).toEqual([uuidOf(1000)]);
    expect(changes?.delta.gonePeople.size).toBe(0);
    expect(changes?.again.map(({ entry }) => entry.text('cn'))).toEqual([['Person 1999'], ['Zoë']]);
  });

  it('finds deleted, new and moved records', async () => {
    const changes = await changesTo([recordOf(5000), ...records.slice(1).reverse()]);
    expect([...(changes?.delta.people.keys() ?? [])]).toEqual([uuidOf(5000)]);
    expect([...(changes?.delta.gonePeople ?? [])]).toEqual([uuidOf(0)]);
  });

  it.each<[what: string, texts: readonly string[]]>([
    ['a second record of a DN', [...records, recordOf(5, 'Second', uuidOf(6000))]],
    ['a second record of an entryUUID', [...records, recordOf(6000, 'Second', uuidOf(5))]],
    ['a version in the middle', [...records, 'version: 1\n']],
    ['a byte order mark in the middle', [...records, `\ufeff${recordOf(6000)}`]],
    ['a second record of the DN of another entry', [...records, OTHER, OTHER.replace('people', 'PEOPLE')]],
    ['a malformed entryUUID', records.with(5, recordOf(5, 'Person 5', 'none'))],
    ['more than a thousand changes', records.map((_, index) => recordOf(index, 'New'))],
    ['other line ends from its second record on', records.map((text) => text.replaceAll('\n', '\r\n'))],
    ['changed records of more than 16 MB', [groupOf(400_000), ...records]],
  ])('leaves a file with %s to a complete reading', async (_, texts) => {
    expect(await changesTo(texts)).toBeNull();
  });

  it.each<[what: string, changed: string]>([
    ['folded lines', recordOf(7).replace('cn: Person', 'cn: Per\n son')],
    ['comments', recordOf(7).replace('cn:', '# Since yesterday\n#  and\n  today\ncn:')],
    ['base64', recordOf(7).replace('cn: Person 7', 'cn:: UGVyc29uIDc=')],
    ['line ends of one record', recordOf(7).replaceAll('\n', '\r\n')],
  ])('reads a record whose %s differ as the same entry', async (_, changed) => {
    const changes = await changesTo(records.with(7, changed));
    const [[uuid, entry] = []] = changes?.delta.people ?? [];
    expect([changes?.delta.people.size, changes?.delta.gonePeople.size]).toEqual([1, 0]);
    expect([uuid, entry?.text('cn')]).toEqual([uuidOf(7), ['Person 7']]);
  });

  it.each<[what: string, write: (texts: readonly string[]) => string]>([
    ['with carriage returns', (texts) => `version: 1\n\n${texts.join('\n')}`.replaceAll('\n', '\r\n')],
    ['with blank lines before its version', (texts) => `\n\nversion: 1\n\n${texts.join('\n')}`],
    ['with a group of 300,000', (texts) => [groupOf(300_000), ...texts].join('\n')],
    [
      'with a group of 300,000 and carriage returns',
      (texts) => [...texts, groupOf(300_000)].join('\n').replaceAll('\n', '\r\n'),
    ],
  ])('finds the one record that changed in a file %s', async (_, write) => {
    writeFileSync(file, write(records));
    const index = await LdifIndex.read(source, signal);
    writeFileSync(file, write(records.with(1000, recordOf(1000, 'Zoë'))));
    const changes = await index?.readChanges(signal);
    const again = await changes?.readAgain([uuidOf(1999)]);
    await changes?.close();
    expect([...(changes?.delta.people.keys() ?? [])]).toEqual([uuidOf(1000)]);
    expect(changes?.delta).toMatchObject({ gonePeople: new Set(), groups: new Map(), goneGroups: new Set() });
    expect(again?.map(({ entry }) => entry.text('cn'))).toEqual([['Person 1999']]);
  });

  it.each(['\n', '\r\n'])(
    'finds records whose end is at any place of a part of the file: %j',
    async (lineEnd) => {
      // Comments move the records by one byte each.
      for (let bytes = 0; bytes < 8; bytes++) {
        const long = `${recordOf(5000)}#${'x'.repeat(262_060 + bytes)}\n`;
        writeFileSync(file, [long, ...records.slice(0, 5)].join('\n').replaceAll('\n', lineEnd));
        const index = await LdifIndex.read(source, signal);
        const changes = await index?.readChanges(signal);
        const found = await changes?.readAgain([5000, 0, 1, 2, 3, 4].map(uuidOf));
        await changes?.close();
        expect(found?.map(({ entry }) => entry.text('uid').join())).toEqual([
          'p5000',
          'p0',
          'p1',
          'p2',
          'p3',
          'p4',
        ]);
      }
    },
  );

  it('ignores blank lines', async () => {
    const changes = await changesTo(records.with(7, `\n\n${recordOf(7)}\n\n`));
    expect(changes?.delta).toMatchObject({ people: new Map(), gonePeople: new Set() });
  });

  it('finds a renamed and moved entry by its entryUUID', async () => {
    const moved = recordOf(7).replace('dn: uid=p7,ou=people', 'dn: uid=p7b,ou=former,ou=people');
    const changes = await changesTo(records.with(7, moved));
    expect([...(changes?.delta.people.values() ?? [])].map(({ dn }) => dn)).toEqual([
      'uid=p7b,ou=former,ou=people,dc=example,dc=org',
    ]);
    expect(changes?.delta.gonePeople.size).toBe(0);
  });

  it('finds 900 changed and 900 deleted records', async () => {
    const changes = await changesTo(
      [...records.slice(0, 200), ...records.slice(1100)].map((text, index) =>
        index < 900 ? text.replace('cn: ', 'cn: New ') : text,
      ),
    );
    expect([changes?.delta.people.size, changes?.delta.gonePeople.size]).toEqual([900, 900]);
  });

  it('finds what a truncated file lacks', async () => {
    const changes = await changesTo([...records.slice(0, 1500), recordOf(1500).slice(0, -60)]);
    expect(changes?.delta.gonePeople.size).toBe(499 + Number(!changes?.delta.people.has(uuidOf(1500))));
  });

  it('rejects a file that is replaced or written while it is read', async () => {
    const index = await indexOf(records);
    const fingerprint = jest.spyOn(source, 'fingerprint').mockResolvedValueOnce('before');
    await expect(index.readChanges(signal)).rejects.toThrow('The file changed while it was read');
    fingerprint.mockRestore();
  });

  it.each<[how: string, content: string]>([
    ['shortened', 'version: 1\n'],
    ['overwritten with other records', `version: 1\n\n${records.toReversed().join('\n')}`],
    ['overwritten with something else', 'x'.repeat(1_000_000)],
  ])('rejects a file that is %s before an entry is read again', async (_, content) => {
    const index = await indexOf(records);
    const changes = await index.readChanges(signal);
    writeFileSync(file, content);
    await expect(changes?.readAgain([uuidOf(5)])).rejects.toThrow(
      new SourceError('The file changed while it was read'),
    );
    await changes?.close();
  });

  it('has a new fingerprint for a file that is replaced by an equal one', async () => {
    const index = await indexOf(records);
    const changes = await index.readChanges(signal);
    await changes?.close();
    writeFileSync(`${file}.new`, `version: 1\n\n${records.join('\n')}`);
    renameSync(`${file}.new`, file);
    const same = await index.readChanges(signal);
    await same?.close();
    expect(same?.index.fingerprint).not.toBe(changes?.index.fingerprint);
    expect(same?.delta).toMatchObject({ people: new Map(), gonePeople: new Set() });
  });

  it('reports a DN in another encoding', async () => {
    const dn = Buffer.from('dn: uid=\xff,dc=example,dc=org\n', 'latin1').toString('latin1');
    await indexOf(records);
    writeFileSync(file, Buffer.from(`${records.join('\n')}\n${dn}`, 'latin1'));
    await expect(LdifIndex.read(source, signal)).rejects.toThrow('not UTF-8');
  });

  it('reports a version that is no longer at the beginning', async () => {
    const text = `# A comment\nversion: 1\n\n${records.join('\n')}`;
    writeFileSync(file, text);
    const index = await LdifIndex.read(source, signal);
    writeFileSync(file, `${recordOf(5000)}\n${text}`);
    await expect(index?.readChanges(signal)).rejects.toThrow('a version that is not at the beginning');
  });

  it('reports a malformed record', async () => {
    await expect(changesTo([...records, 'dn: uid=x\nwithout colon\n'])).rejects.toThrow();
  });
});
