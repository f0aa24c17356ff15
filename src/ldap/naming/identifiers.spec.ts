import { Entry } from '../entry.js';
import { identityValues, keyOfDn, parseSid, primaryGroupSid, uuidOfDn, uuidOfEntry } from './identifiers.js';

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
    ['entryUUID', `${uuid}0`],
    ['entryUUID', uuid.replaceAll('-', '')],
    ['nsUniqueId', '6ba7b810-9dad11d1-80b400c0-4fd430c'],
    ['entryUUID', `{${uuid}}`],
    ['ipaUniqueID', 'autogenerate'],
    ['entryUUID', '00000000-0000-0000-0000-000000000000'],
    ['objectGUID', Buffer.alloc(16)],
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

describe('the key of a DN', () => {
  it('is the same for all spellings of a DN, and differs for other DNs', () => {
    const key = keyOfDn('uid=anna,ou=people,dc=example,dc=org');
    expect(keyOfDn('UID=Anna , OU=People, DC=example,DC=org')).toBe(key);
    expect(keyOfDn('uid=anne,ou=people,dc=example,dc=org')).not.toBe(key);
    expect(key).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('exists for text that is not a DN, and matches no entry', () => {
    expect(keyOfDn('no DN at all')).not.toBe(keyOfDn('no DN either'));
    expect(keyOfDn('uid="a,b"')).not.toBe(keyOfDn('uid=a\\,b'));
  });
});

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
    ['another revision', Buffer.concat([Buffer.of(2), ANN.subarray(1)])],
    ['a missing part', ANN.subarray(0, -4)],
    ['a part too many', Buffer.concat([ANN, Buffer.alloc(4)])],
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
