import { createHash } from 'node:crypto';
import { hashGroup, hashGroupInSteps, hashPerson } from './content-hash.js';
import type { MappedGroup, MappedPerson } from './snapshot.js';

const CREATED = new Date('2024-02-29T08:09:10Z');
const ENTRY = { uuid: '13c9344a', dn: 'uid=anna', dnKey: 'a1', id: 'anna', name: 'Anna', createdAt: CREATED };
const PERSON: MappedPerson = {
  ...ENTRY,
  email: 'anna@example.org',
  givenName: 'Anna',
  familyName: null,
  schoolYear: '1A',
  photo: Buffer.from([1, 255]),
  picture: null,
  sourceValues: { sn: ['Berg'], mail: null },
};
const GROUP: MappedGroup = {
  ...ENTRY,
  description: 'Chess',
  website: null,
  sourceValues: null,
  references: new Map(),
};

function sha256(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

function hashOf(person: MappedPerson): string {
  return hashPerson(person, []).contentHash.toString('hex');
}

describe('the content hash', () => {
  // A different form would make every mirrored entry appear changed.
  it('has the form of earlier releases', () => {
    const head = [5, 'uid=anna', 'anna', 'Anna'];
    const source = [
      ['mail', null],
      ['sn', ['Berg']],
    ];
    expect(hashOf(PERSON)).toBe(
      sha256([...head, 'anna@example.org', source, CREATED.getTime(), 'Anna', null, '1A', '01ff', null]),
    );
    expect(hashGroup(GROUP, []).contentHash.toString('hex')).toBe(
      sha256([...head, null, null, CREATED.getTime(), 'Chess', null]),
    );
  });

  it('differs from that of earlier releases if they folded the DN or the id differently', () => {
    const former = (dn: string, id: string) =>
      sha256([5, dn, id, 'Anna', null, null, CREATED.getTime(), 'Chess', null]);
    const hashOfGroup = (dn: string, id: string) =>
      hashGroup({ ...GROUP, dn, id }, []).contentHash.toString('hex');
    for (const text of ['ΣΑΣ', 'İx', '\u03f9', '\\CE\\A3'])
      expect(hashOfGroup(`cn=${text}`, 'a')).not.toBe(former(`cn=${text}`, 'a'));
    expect(hashOfGroup('cn=a', 'ΣΑ')).not.toBe(former('cn=a', 'ΣΑ'));
    expect(hashOfGroup('cn=σας\\,igor', 'ää')).toBe(former('cn=σας\\,igor', 'ää'));
  });

  it('covers many references in the order of their keys, however they are named', async () => {
    const keys = Array.from({ length: 5000 }, (_, index) => {
      const digits = sha256(index).slice(0, 8);
      return [digits, `id:${digits}`, `uuid:${digits}`, `id:ä"${index}`, `id:😀${index}`][index % 5] ?? '';
    });
    const pairs = keys.map((key, index) => [key, 1 + (index % 7)] as const);
    const wanted = sha256([...pairs].sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)));
    for (const count of [pairs.length, 0]) {
      const group = { ...GROUP, references: new Map(pairs.slice(0, count)) };
      const expected = count === 0 ? sha256([]) : wanted;
      expect(hashGroup(group, []).referencesHash.toString('hex')).toBe(expected);
      expect((await hashGroupInSteps(group, [])).referencesHash.toString('hex')).toBe(expected);
    }
  });

  it('stays the same for an entry that has no value of a new field', () => {
    expect(hashOf({ ...PERSON, phone: null })).toBe(hashOf(PERSON));
    expect(hashOf({ ...PERSON, phone: '1' })).not.toBe(hashOf(PERSON));
    expect(hashOf({ ...PERSON, phone: '1' })).not.toBe(hashOf({ ...PERSON, fax: '1' }));
    expect(hashOf({ ...PERSON, phone: '1', fax: '2' })).toBe(hashOf({ ...PERSON, fax: '2', phone: '1' }));
  });
});
