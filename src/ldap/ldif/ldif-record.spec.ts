import fc from 'fast-check';
import { NAUGHTY_STRINGS } from '../../../test/support/builders/naughty-strings.js';
import { linesOf, parseAttributeValue } from './ldif.js';
import { type ChangeRecord, writeLdif } from './ldif-record.js';

const DN = 'uid=ada,ou=people,dc=example,dc=org';

describe('writeLdif', () => {
  it('writes an assertion as a critical control (RFC 4528)', () => {
    const ldif = writeLdif([
      {
        dn: DN,
        assertion: { kind: 'not', filter: { kind: 'present', attribute: 'mail' } },
        changetype: 'modify',
        changes: [],
      },
    ]);
    const filter = Buffer.from([0xa2, 0x06, 0x87, 0x04, ...Buffer.from('mail')]).toString('base64');
    expect(ldif.split('\n')[2]).toBe(`control: 1.3.6.1.1.12 true:: ${filter}`);
  });

  it.each([
    ['', 'cn:'],
    ['a:b<c', 'cn: a:b<c'],
    [' a', 'cn:: IGE='],
    ['<a', 'cn:: PGE='],
    ['a ', 'cn:: YSA='],
    ['a\0', 'cn:: YQA='],
    ['a\nb', 'cn:: YQpi'],
    ['é', 'cn:: w6k='],
  ])('writes the value %j as %j', (value, line) => {
    expect(writeLdif([addition(DN, [value])]).split('\n')[3]).toBe(line);
  });

  it('folds at 76 columns, including the space of a continuation', () => {
    const [first, second, third] = writeLdif([addition(DN, ['x'.repeat(147)])])
      .split('\n')
      .slice(3);
    expect([first, second, third]).toEqual([`cn: ${'x'.repeat(72)}`, ` ${'x'.repeat(75)}`, '']);
  });

  it('is the inverse of reading, for any values', () => {
    const records = fc.array(record, { maxLength: 4 });
    fc.assert(
      fc.property(records, (list) => {
        const ldif = writeLdif(list);
        expect(readBack(ldif)).toEqual(list.map(textsOf));
        expect(ldif).toMatch(/^(?:[\x20-\x7e]{0,76}\n)*$/);
        expect(ldif).not.toMatch(/^[^ ][^:]*:</m);
      }),
      { numRuns: 1000 },
    );
  });
});

const text = fc.oneof(
  fc.constantFrom(...NAUGHTY_STRINGS),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom(' ', ':', '<', '-', '\n', '\r', 'dn: x', '\0', '\x7f', 'é'),
    maxLength: 20,
  }),
);
const values = fc.array(text, { minLength: 1, maxLength: 3 });
const record: fc.Arbitrary<ChangeRecord> = fc.oneof(
  fc.tuple(text, values).map(([dn, list]) => addition(dn, list)),
  text.map((dn): ChangeRecord => ({ dn, changetype: 'delete' })),
  fc.tuple(text, values, fc.constantFrom('add', 'delete')).map(([dn, list, operation]): ChangeRecord => ({
    dn,
    changetype: 'modify',
    changes: [{ operation, attribute: 'description', values: list }],
  })),
);

function addition(dn: string, list: readonly string[]): ChangeRecord {
  return { dn, changetype: 'add', attributes: [{ attribute: 'cn', values: list }] };
}

/** The lines of a record, each as its description and value; `-` has no value. */
function textsOf(of: ChangeRecord): string[][] {
  const head = [
    ['dn', of.dn],
    ['changetype', of.changetype],
  ];
  if (of.changetype === 'delete') return head;
  if (of.changetype === 'add') {
    return [...head, ...of.attributes.flatMap((each) => each.values.map((value) => [each.attribute, value]))];
  }
  return [
    ...head,
    ...of.changes.flatMap((change) => [
      [change.operation, change.attribute],
      ...change.values.map((value) => [change.attribute, value]),
      ['-'],
    ]),
  ];
}

/** Reads change records with the parsers for lines and values of content files. */
function readBack(ldif: string): string[][][] {
  const records: string[][][] = [];
  let current: string[][] = [];
  for (const line of linesOf(ldif, 1)) {
    if (line.text === '') {
      if (current.length > 0) records.push(current);
      current = [];
    } else if (line.text === '-') {
      current.push(['-']);
    } else {
      const { description, value } = parseAttributeValue(line);
      if (description !== 'version') current.push([description, value?.toString('utf8') ?? '']);
    }
  }
  return records;
}
