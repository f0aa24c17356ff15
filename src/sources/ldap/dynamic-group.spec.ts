import { Entry } from '../../ldap/entry.js';
import { isDynamicGroup } from './dynamic-group.js';

describe('a group is dynamic', () => {
  it.each([
    ['by its class', { objectClass: ['top', 'GroupOfURLs'] }, true],
    [
      'by a search of the same server',
      { objectClass: ['groupOfNames'], memberURL: ['ldap:///dc=a??sub?'] },
      true,
    ],
    ['by such a search in any attribute and spelling', { staffURL: ['LDAP:///dc=a??sub?'] }, true],
    ['but not by a website', { labeledURI: ['https://example.org/ldap:///'] }, false],
    ['but not by a search of another server', { memberURL: ['ldap://example.org/dc=a??sub?'] }, false],
    ['but not by its members', { objectClass: ['groupOfNames'], member: ['uid=anna,dc=a', ''] }, false],
  ])('%s', (_, attributes, isDynamic) => {
    const values = Object.entries(attributes).map(([name, texts]): [string, Buffer[]] => [
      name,
      texts.map((text: string) => Buffer.from(text)),
    ]);
    expect(isDynamicGroup(new Entry('cn=a', values))).toBe(isDynamic);
  });
});
