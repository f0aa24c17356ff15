/** Fields as a model file declares them, and a directory that has their attributes. */
import type { FieldDefinition } from '../../../src/common/field.js';
import { buildLdif } from './directory.js';

const DESCRIPTION = 'A field that a test adds.';

/** A field without a column, read from the attribute of the same name. */
export function own(
  name: string,
  type: string,
  reader: FieldDefinition['reader'],
  more: Partial<FieldDefinition> = {},
): FieldDefinition {
  const stored = { column: null, storedAs: `${name}:${type}` };
  return { name, type, description: DESCRIPTION, attributes: [name], reader, ...stored, ...more };
}

const FILTERABLE = { isFilterable: true } as const;

function editable(label: string): Pick<FieldDefinition, 'change'> {
  return { change: { label, by: 'administrator', isRemovable: true } };
}

export const CUSTOM_FIELDS_OF_USERS = [
  own('phone', 'String', 'line', {
    ...FILTERABLE,
    ...editable('phone number'),
    isSearchable: true,
    match: 'phone',
  }),
  own('staffNumber', 'Int', 'integer', { ...FILTERABLE, ...editable('staff number') }),
  own('hours', 'Float', 'number', { ...FILTERABLE, ...editable('hours') }),
  own('isExternal', 'Boolean', 'boolean', { ...FILTERABLE, ...editable('contract') }),
  own('endsAt', 'DateTime', 'time', { ...FILTERABLE, ...editable('end') }),
  own('homepage', 'URL', 'url', {
    ...FILTERABLE,
    ...editable('homepage'),
    isPersonal: false,
    match: 'caseExact',
  }),
  own('keys', '[Int!]!', 'integer'),
  own('trainedAt', '[DateTime!]!', 'time'),
  own('tags', '[String!]!', 'line', { isSearchable: true }),
  own('badge', 'String', 'line', { ...FILTERABLE, ...editable('badge'), scopes: ['write'] }),
  own('locker', 'String', 'line', { ...FILTERABLE, ...editable('locker'), visibleTo: 'groupAdmins' }),
  own('notes', '[String!]!', 'line', { visibleTo: 'self' }),
];
export const CUSTOM_FIELDS_OF_GROUPS = [
  own('room', 'Int', 'integer', { ...FILTERABLE, change: { label: 'room', by: 'owner', isRemovable: true } }),
  own('budget', 'Int', 'integer', { visibleTo: 'groupAdmins' }),
  own('plan', 'String', 'line', { visibleTo: 'self' }),
  // The same name with another type as among users.
  own('homepage', 'String', 'line'),
];

/** For whom the client `demo-basic` acts. */
export const VIEWER = 'ada.martin';

const ADA: [attribute: string, value: string][] = [
  ['phone', '+41 44 ÄÖ'],
  ['staffNumber', '-17'],
  ['hours', '38.5'],
  ['isExternal', 'FALSE'],
  ['endsAt', '133536677501230000'],
  ['homepage', 'https://ada.example.org/é Home'],
  ...['10', '9', '10', 'nine'].map((key): [string, string] => ['keys', key]),
  ...['2024022908+01', '20231231000000Z'].map((time): [string, string] => ['trainedAt', time]),
  ...['chess', 'art'].map((tag): [string, string] => ['tags', tag]),
  ['badge', 'B-7'],
  ['locker', 'L 1'],
  ['notes', 'n'],
];
export const CUSTOM_ATTRIBUTES: Record<string, [attribute: string, value: string][]> = {
  [VIEWER]: ADA,
  ben: [
    ['phone', '+41 44 ao 2'],
    ['staffNumber', '2147483647'],
    ['hours', '1e2'],
    ['isExternal', 'TRUE'],
    ['endsAt', '9223372036854775807'],
    ['badge', 'B-8'],
    ['locker', 'L 2'],
    ['notes', 'n'],
  ],
  cleo: [
    ['endsAt', '20300101000000Z'],
    ['locker', 'L 3'],
  ],
  dan: [['locker', 'L 4']],
  club: [
    ['room', '12'],
    ['budget', '100'],
    ['plan', 'p'],
    ['homepage', 'next to the hall'],
  ],
  choir: [
    ['room', '13'],
    ['budget', '200'],
    ['plan', 'p'],
  ],
};

/** The viewer administers `club`, which contains `band`, and is a member of `choir`. */
export function customFieldsLdif(attributes = CUSTOM_ATTRIBUTES): string {
  const ldif = buildLdif(
    [VIEWER, 'ben', 'cleo', 'dan'].map((id) => ({ id })),
    [
      { id: 'club', members: [VIEWER, 'ben', '@band'], admins: [VIEWER] },
      { id: 'band', members: ['cleo'] },
      { id: 'choir', members: [VIEWER, 'dan'] },
    ],
  );
  return addAttributes(ldif, attributes);
}

/** Adds attributes to the entries with the ids of a record. */
export function addAttributes(
  ldif: string,
  attributes: Readonly<Record<string, readonly (readonly [attribute: string, value: string])[]>>,
): string {
  return ldif
    .split('\n\n')
    .map((record) => {
      const [, dn = ''] = /^dn:: (\S+)$/m.exec(record) ?? [];
      const [, id = ''] = /^\w+=([\w.]+),/.exec(Buffer.from(dn, 'base64').toString()) ?? [];
      const lines = (attributes[id] ?? []).map(([name, value]) => {
        return `\n${name}:: ${Buffer.from(value).toString('base64')}`;
      });
      return `${record.trimEnd()}${lines.join('')}`;
    })
    .join('\n\n')
    .concat('\n');
}
