import { Entry } from '../entry.js';
import { LimitExceededError, recognizeServer, toLimitError } from './server-kind.js';

// OpenLDAP, 389 Directory Server and Samba run in the suites of test/ldap/. These root DSEs are from the sources of the
// servers, and the one of Active Directory from [MS-ADTS] 3.1.1.3.2.
it.each([
  [
    'freeipa',
    { vendorName: ['389 Project'], ipaTopologyPluginVersion: ['1.0'], ipaTopologyIsManaged: ['on'] },
  ],
  ['389ds', { vendorName: ['389 Project'], supportedControl: ['1.3.6.1.4.1.4203.1.9.1.1'] }],
  ['lldap', { objectClass: ['top'], vendorName: ['LLDAP'], vendorVersion: ['lldap_0.6.1'] }],
  ['authentik', { vendorName: ['goauthentik.io'], supportedCapabilities: ['1.2.840.113556.1.4.800'] }],
  ['kanidm', { vendorname: ['Kanidm Project'], vendorversion: ['1.4.0'] }],
  ['active-directory', { supportedCapabilities: ['1.2.840.113556.1.4.800', '1.2.840.113556.1.4.1670'] }],
  ['other', { supportedCapabilities: ['1.2.840.113556.1.4.1851'] }],
  ['other', { vendorName: ['Apache Software Foundation'] }],
  ['other', {}],
])('recognizes %s by %p', (kind, attributes) => {
  const values = Object.entries<string[]>(attributes).map(
    ([name, texts]) => [name, texts.map((text) => Buffer.from(text))] as const,
  );
  expect(recognizeServer(new Entry('', values))).toBe(kind);
});

const DN = 'cn=mirror,dc=example,dc=org';

describe('toLimitError', () => {
  it('has the line that OpenLDAP needs, for both kinds of configuration', () => {
    const error = toLimitError({ code: 4, diagnostic: 'no' }, DN, 'openldap');
    expect(error).toBeInstanceOf(LimitExceededError);
    expect(error?.message).toBe(
      `The directory server limits what ${DN} may read (sizeLimitExceeded). ` +
        `OpenLDAP needs in slapd.conf: limits dn.exact="${DN}" size=unlimited time=unlimited ` +
        `(in cn=config, on the database: olcLimits: dn.exact="${DN}" size=unlimited time=unlimited)`,
    );
    expect(error).toMatchObject({ code: 4, codeName: 'sizeLimitExceeded', diagnostic: 'no' });
  });

  it('escapes characters with a meaning in slapd.conf', () => {
    const error = toLimitError({ code: 4, diagnostic: '' }, 'cn=a\\,"b",dc=c', 'openldap');
    expect(error?.message).toContain('limits dn.exact="cn=a\\\\,\\"b\\",dc=c" size');
  });

  it.each([
    ['389ds', ['nsSizeLimit', 'nsPagedSizeLimit', 'nsLookThroughLimit']],
    ['freeipa', ['nsSizeLimit', 'nsPagedSizeLimit', 'nsLookThroughLimit']],
    ['active-directory', ['MaxResultSetSize', 'MaxPageSize']],
    ['samba', []],
  ] as const)('has the settings of %s, and not those of OpenLDAP', (kind, settings) => {
    for (const code of [3, 4, 11]) {
      const message = toLimitError({ code, diagnostic: '' }, DN, kind)?.message ?? '';
      expect(message).toContain(`The directory server limits what ${DN} may read`);
      for (const setting of settings) expect(message).toContain(setting);
      expect(message).not.toMatch(/OpenLDAP|olcLimits/);
    }
  });
});
