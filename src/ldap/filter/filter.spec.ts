import fc from 'fast-check';
import { Entry } from '../entry.js';
import { BerWriter } from 'ldapts';
import {
  EncodedFilter,
  attributesOfFilter,
  InvalidFilterError,
  parseFilter,
  compileFilter,
} from './filter.js';

const bytes = (...values: string[]) => values.map((value) => Buffer.from(value));
const ann = new Entry('uid=ann,ou=people', [
  ['objectClass', bytes('top', 'inetOrgPerson')],
  ['cn', bytes('Élodie  Ann (Ba)')],
  ['schoolYear', bytes('2024')],
  ['cn;lang-fr', bytes('Anne')],
  ['star', bytes('a*b')],
  ['octets', [Buffer.from([0xc3, 0x28])]],
  ['userAccountControl', bytes('514')],
  ['groupType', bytes('-2147483646')],
  ['uidNumber', bytes('100000')],
  ['employeeNumber', bytes(' 007 ')],
  ['createTimestamp', bytes('20260901120000Z')],
]);

describe('compileFilter', () => {
  it.each([
    '(objectClass=inetOrgPerson)',
    '(OBJECTCLASS=INETORGPERSON)',
    ' (objectClass=top) ',
    '(&(objectClass=top)(cn=*))',
    '(|(objectClass=x)(cn=*ann*))',
    '(!(mail=*))',
    '(&)',
    '(cn=élodie ann \\28BA\\29)',
    '(cn=élo*ann*\\29)',
    '(cn=*)',
    '(star=a\\2ab)',
    '(schoolYear>=2024)',
    '(uidNumber>=60000)',
    '(groupType<=-2)',
    '(employeeNumber>=7)',
    `(uidNumber<=${'9'.repeat(30)})`,
    '(uidNumber>=0x)',
    '(createTimestamp>=20260901115959Z)',
    '(cn;lang-fr=anne)',
    '(cn=anne)',
    '(octets=\\c3\\28)',
    '(!(octets=\\c3))',
    '(cn:=élodie ann \\28BA\\29)',
    '(ou:dn:=PEOPLE)',
    '(UID:DN:=ann)',
    '(userAccountControl:1.2.840.113556.1.4.803:=2)',
    '(userAccountControl:1.2.840.113556.1.4.804:=3)',
    '(groupType:1.2.840.113556.1.4.803:=2147483648)',
    '(!(userAccountControl:1.2.840.113556.1.4.804:=4))',
  ])('matches an entry with %s', (filter) => {
    expect(compileFilter(filter)(ann)).toBe(true);
  });

  it.each([
    '(&(objectClass=top)(mail=*))',
    '(|)',
    '(!(cn=*))',
    '(cn;lang-en=anne)',
    '(cn=annie)',
    '(cn=*ann)',
    '(schoolYear=*02*20*)',
    '(schoolYear>=2025)',
    '(uidNumber<=60000)',
    '(uidNumber>=60000a)',
    '(groupType>=-3)',
    '(createTimestamp>=20260901120001Z)',
    '(ou:=people)',
    '(ou:dn:=alumni)',
    '(userAccountControl:1.2.840.113556.1.4.803:=3)',
    '(userAccountControl:1.2.840.113556.1.4.804:=0)',
    '(cn:1.2.840.113556.1.4.803:=0)',
  ])('does not match an entry with %s', (filter) => {
    expect(compileFilter(filter)(ann)).toBe(false);
  });

  it.each([
    '',
    '(cn)',
    '(=a)',
    '(cn=a',
    '(cn=a)(cn=b)',
    '(cn=(a)',
    '(!(cn=a)(cn=b))',
    '(& (cn=a))',
    '(cn=a\\zz)',
    '(cn=a\0)',
    '(cn=a**b)',
    '(cn>=a*)',
    '(cn:caseExactMatch:=a)',
    '(:=a)',
    '(cn:dn:a:b:=a)',
    '(:caseExactMatch:=a)',
    '(member:1.2.840.113556.1.4.1941:=cn=a)',
    '(userAccountControl:1.2.840.113556.1.4.803:=two)',
    '(cn>=\\ff)',
    '(!'.repeat(10_000) + '(cn=a)' + ')'.repeat(10_000),
  ])('rejects %s', (filter) => {
    expect(() => compileFilter(filter)).toThrow(InvalidFilterError);
  });

  it('throws InvalidFilterError only', () => {
    const pieces = fc.constantFrom(...Array.from('()&|!=*\\<>~:;a0 é'), '(cn=', '\\2a', '\0');
    fc.assert(
      fc.property(fc.array(pieces), (written) => {
        try {
          compileFilter(written.join(''))(ann);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidFilterError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('attributesOfFilter', () => {
  it.each([
    ['(cn=a)', ['cn']],
    ['(!(|(mail=*)(&(cn=a*)(sn>=b)(cn~=c))))', ['mail', 'cn', 'sn']],
    ['(cn;lang-fr<=a)', ['cn;lang-fr']],
    ['(&)', []],
    [
      '(|(ou:dn:=a)(userAccountControl:1.2.840.113556.1.4.803:=2)(:caseExactMatch:=a))',
      ['ou', 'userAccountControl'],
    ],
  ])('lists those of %s', (filter, attributes) => {
    expect(attributesOfFilter(parseFilter(filter))).toEqual(attributes);
  });
});

describe('EncodedFilter', () => {
  // Elements of MatchingRuleAssertion (RFC 4511 §4.5.1): matchingRule [1], type [2], matchValue [3], dnAttributes [4].
  it.each([
    ['(cn:=a)', 'a907 8202636e 830161'],
    ['(ou:dn:=a)', 'a90a 82026f75 830161 8401ff'],
    ['(cn:2.5.13.5:=\\ff)', 'a911 8108322e352e31332e35 8202636e 8301ff'],
    ['(:DN:caseExactMatch:=a)', 'a916 810e6361736545786163744d61746368 830161 8401ff'],
  ])('encodes %s', (text, hex) => {
    const writer = new BerWriter();
    new EncodedFilter(parseFilter(text)).write(writer);
    expect(writer.buffer.toString('hex')).toBe(hex.replaceAll(' ', ''));
  });
});
