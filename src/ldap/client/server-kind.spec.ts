import { Entry } from '../entry.js';
import { recognizeServer } from './server-kind.js';

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
