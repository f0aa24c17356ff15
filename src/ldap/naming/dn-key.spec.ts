import { keyOfDn } from './dn-key.js';

describe('the key of a DN', () => {
  it('is one, however the DN is spelled, and another for every other DN', () => {
    const key = keyOfDn('uid=anna,ou=people,dc=example,dc=org');
    expect(keyOfDn('UID=Anna , OU=People, DC=example,DC=org')).toBe(key);
    expect(keyOfDn('uid=anne,ou=people,dc=example,dc=org')).not.toBe(key);
    expect(key).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('is there for text that is no DN, and is as good as any other that names nothing', () => {
    expect(keyOfDn('no DN at all')).not.toBe(keyOfDn('no DN either'));
    expect(keyOfDn('uid="a,b"')).not.toBe(keyOfDn('uid=a\\,b'));
  });
});
