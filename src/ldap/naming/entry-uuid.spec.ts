import { uuidOfDn } from './entry-uuid.js';

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
