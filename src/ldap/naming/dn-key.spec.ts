import { keyOfDn } from './dn-key.js';

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
