import { dnOfNameAndUid } from './name-and-uid.js';

// The first is the example of RFC 4517 §3.3.21.
it.each([
  ["1.3.6.1.4.1.1466.0=#04024869,O=Test,C=GB#'0101'B", '1.3.6.1.4.1.1466.0=#04024869,O=Test,C=GB'],
  ["cn=a#''B", 'cn=a'],
  ['cn=a', 'cn=a'],
  ["cn=a#'012'B", "cn=a#'012'B"],
  ["cn=a'B", "cn=a'B"],
  ["cn=a#'01'B,dc=b", "cn=a#'01'B,dc=b"],
  ["cn=a#'1'B#'0'B", "cn=a#'1'B"],
])('reads %s as %s', (text, dn) => {
  expect(dnOfNameAndUid(text)).toBe(dn);
});
