import { Entry } from '../entry.js';
import { identityValues, uuidOfDn, uuidOfEntry } from './entry-uuid.js';

describe('uuidOfDn', () => {
  // Compared with uuid.uuid5(uuid.NAMESPACE_X500, …) of Python's standard library.
  it.each([
    ['uid=ann,ou=people,dc=example,dc=org', 'ebe13c19-83bb-5bfd-928d-f978fb28c302'],
    ['cn=élodie', 'e4901205-027c-5fa7-a5d8-cb4c527c6bb4'],
    ['', 'b4bdf874-8c03-5bd8-8fd7-5e409dfd82c0'],
  ])('returns the UUID of other implementations for %p', (dn, uuid) => {
    expect(uuidOfDn(dn)).toBe(uuid);
  });

  it('returns one UUID for all spellings of a DN', () => {
    expect(uuidOfDn('UID=Ann, OU=People,dc=example,dc=\\6frg')).toBe(
      uuidOfDn('uid=ann,ou=people,dc=example,dc=org'),
    );
  });
});

describe('uuidOfEntry', () => {
  const read = (attribute: string, value: Buffer | string) =>
    uuidOfEntry(new Entry('cn=a', [[attribute, [Buffer.from(value)]]]), attribute);
  const uuid = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

  it.each([
    ['entryUUID', uuid],
    ['entryUUID', ` ${uuid.toUpperCase()} `],
    ['ipaUniqueID', uuid],
    ['nsUniqueId', '6ba7b810-9dad11d1-80b400c0-4fd430c8'],
    ['nsUniqueId', '6BA7B8109DAD11D180B400C04FD430C8'],
    ['GUID', Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex')],
    // [MS-DTYP] 2.3.4.1: Data1, Data2 and Data3 are little-endian.
    ['objectGUID', Buffer.from('10b8a76bad9dd11180b400c04fd430c8', 'hex')],
    ['OBJECTguid', Buffer.from('10b8a76bad9dd11180b400c04fd430c8', 'hex')],
  ])('reads %s %p', (attribute, value) => {
    expect(read(attribute, value)).toBe(uuid);
  });

  it.each([
    ['entryUUID', ''],
    ['entryUUID', `${uuid}0`],
    ['entryUUID', uuid.slice(1)],
    ['entryUUID', uuid.replaceAll('-', '')],
    ['nsUniqueId', '6ba7b810-9dad11d1-80b400c0-4fd430c'],
    ['entryUUID', uuid.replace('6', 'g')],
    ['entryUUID', `{${uuid}}`],
    ['ipaUniqueID', 'autogenerate'],
    ['entryUUID', '00000000-0000-0000-0000-000000000000'],
    ['nsUniqueId', '00000000-00000000-00000000-00000000'],
    ['objectGUID', Buffer.alloc(16)],
    ['objectGUID', Buffer.alloc(15, 1)],
    ['objectGUID', Buffer.alloc(17, 1)],
  ])('rejects %s %p', (attribute, value) => {
    expect(read(attribute, value)).toBeNull();
  });

  it.each([
    ['entryUUID', [uuid]],
    ['ipaUniqueID', [uuid]],
    ['nsUniqueId', ['6ba7b810-9dad11d1-80b400c0-4fd430c8']],
    ['objectGUID', [Buffer.from('10b8a76bad9dd11180b400c04fd430c8', 'hex')]],
    // Of an attribute of the operators, the syntax is unknown.
    ['GUID', [uuid, Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex')]],
  ])('writes %s as filters need it', (attribute, values) => {
    expect(identityValues(uuid, attribute)).toEqual(values.map((value) => Buffer.from(value)));
  });
});
