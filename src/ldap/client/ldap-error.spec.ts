import { LockingRejectionError, toBindError } from './ldap-error.js';

const diagnosticOf = (data: string) =>
  `80090308: LdapErr: DSID-0C0903A9, comment: AcceptSecurityContext error, data ${data}, v1db1`;

describe('a rejected bind', () => {
  it.each([
    ['52e', 'The account or its password is wrong'],
    ['532', 'The password has expired'],
    ['533', 'The account is disabled'],
    ['701', 'The account has expired'],
    ['773', 'The password must be changed before the first use'],
    ['775', 'The account is locked'],
  ])('has the cause that Active Directory names with %s', (data, cause) => {
    const error = toBindError({ code: 49, diagnostic: diagnosticOf(data) }, 'cn=mirror');
    expect(error).toBeInstanceOf(LockingRejectionError);
    expect(error.message).toBe(
      `The directory server rejects the bind of cn=mirror: invalidCredentials (49). ${cause}`,
    );
  });

  it('has no cause if the server names none, or an unknown one, and no text of the server', () => {
    const plain = toBindError({ code: 49, diagnostic: 'secret' }, 'cn=mirror');
    expect(plain).not.toBeInstanceOf(LockingRejectionError);
    for (const error of [plain, toBindError({ code: 49, diagnostic: diagnosticOf('999') }, 'cn=mirror')])
      expect(error.message).toBe(
        'The directory server rejects the bind of cn=mirror: invalidCredentials (49)',
      );
  });
});
