import fc from 'fast-check';
import { Entry } from '../entry.js';
import { attributesOfFilter, InvalidFilterError, parseFilter } from './filter-parser.js';
import { compileFilter } from './filter.js';

const bytes = (...values: string[]) => values.map((value) => Buffer.from(value));
const ann = new Entry('uid=ann,ou=people', [
  ['objectClass', bytes('top', 'inetOrgPerson')],
  ['cn', bytes('Élodie  Ann (Ba)')],
  ['schoolYear', bytes('2024')],
  ['cn;lang-fr', bytes('Anne')],
  ['star', bytes('a*b')],
  ['octets', [Buffer.from([0xc3, 0x28])]],
]);

describe('compileFilter', () => {
  it.each([
    '(objectClass=inetOrgPerson)',
    '(OBJECTCLASS=INETORGPERSON)',
    'objectClass=top',
    ' (objectClass=top) ',
    '(&(objectClass=top)(cn=*))',
    '(|(objectClass=x)(cn=*ann*))',
    '(!(mail=*))',
    '(!(|(mail=*)(cn=x)))',
    '(&)',
    '(cn=élodie ann \\28BA\\29)',
    '(cn=\\c3\\a9lodie   ann \\28ba\\29 )',
    '(cn=élo*ann*\\29)',
    '(cn=É*)',
    '(cn=*)',
    '(cn=*\\29)',
    '(star=a\\2ab)',
    '(star=*\\2a*)',
    '(schoolYear>=2024)',
    '(schoolYear<=2024)',
    '(schoolYear~=2024)',
    '(cn;lang-fr=anne)',
    '(octets=\\c3\\28)',
    '(!(octets=\\c3))',
    '(!(octets=*a*))',
  ])('matches an entry with %s', (filter) => {
    expect(compileFilter(filter)(ann)).toBe(true);
  });

  it.each([
    '(objectClass=groupOfNames)',
    '(&(objectClass=top)(mail=*))',
    '(|)',
    '(!(cn=*))',
    '(cn=anne)',
    '(cn=ann*)',
    '(cn=*ann)',
    '(schoolYear=2024*24)',
    '(schoolYear=*02*20*)',
    '(schoolYear>=2025)',
    '(schoolYear<=2023)',
    '(star=a)',
  ])('does not match an entry with %s', (filter) => {
    expect(compileFilter(filter)(ann)).toBe(false);
  });

  it.each([
    '',
    '()',
    '(cn)',
    '(=a)',
    '(cn=a',
    'cn=a)',
    '(cn=a))',
    '(cn=a)(cn=b)',
    '(cn=(a)',
    '(&(cn=a)',
    '(!(cn=a)',
    '(!(cn=a)x)',
    '(!(cn=a)(cn=b))',
    '(!)',
    '(& (cn=a))',
    '(cn=a\\2)',
    '(cn=a\\zz)',
    '(cn=a\0)',
    '(cn=a**b)',
    '(cn>=a*)',
    '(cn:caseExactMatch:=a)',
    '(cn:=a)',
    '(cn>=\\ff)',
    '('.repeat(5) + 'cn=a' + ')'.repeat(5),
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
  ])('lists those of %s', (filter, attributes) => {
    expect(attributesOfFilter(parseFilter(filter))).toEqual(attributes);
  });
});
