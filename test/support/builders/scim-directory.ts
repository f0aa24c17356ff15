import { addAttributes } from './custom-fields.js';
import { buildLdif, PICTURE, type TestGroup, type TestPerson } from './directory.js';

/** Fields of the enterprise extension, and others, one of them with a scope. */
export const SCIM_MODEL = `
users:
  disabled: (employeeType=disabled)
  fields:
    employeeNumber: {attribute: employeeNumber, type: String, description: The number., filterable: true}
    department: {attribute: departmentNumber, type: String, description: The department., filterable: true}
    manager: {attribute: manager, type: User, description: The manager.}
    level: {attribute: carLicense, type: Int, description: The level., filterable: true}
    startsAt: {attribute: initials, type: DateTime, description: The start., filterable: true}
    tags: {attribute: title, type: '[String!]!', description: The tags.}
    badge: {attribute: roomNumber, type: String, description: The badge., filterable: true, access: badges}
groups:
  fields:
    room: {attribute: roomNumber, type: String, description: The room., filterable: true}
scopes:
  badges: The badges.
`;

/** Names with characters that have a meaning in filters, in SQL and in JSON. */
export const SCIM_PEOPLE: readonly TestPerson[] = [
  {
    ...{ id: 'anna', name: 'Anna Åberg', givenName: 'Anna', familyName: 'Åberg', email: 'anna@example.org' },
    ...{ manager: 'ben', photo: PICTURE },
  },
  { id: 'ben', name: 'Ben Bach', givenName: 'Ben', familyName: 'Bach', email: 'Ben.Bach@Example.org' },
  { id: 'cleo', name: 'Cleo "C\\D" 100%_', familyName: 'Crane' },
  { id: 'dan', name: 'dan Zed', givenName: 'Dan', familyName: 'Zed', email: 'dan@other.org' },
];
export const SCIM_GROUPS: readonly TestGroup[] = [
  { id: 'club', name: 'Club', members: ['anna', '@team'] },
  { id: 'team', name: 'Team', members: ['ben', 'cleo'] },
];

const ATTRIBUTES: Record<string, [attribute: string, value: string][]> = {
  anna: [
    ['employeeNumber', '7'],
    ['departmentNumber', 'Sales'],
    ['carLicense', '3'],
    ['initials', '20240229080910Z'],
    ['title', 'a'],
    ['title', 'b'],
    ['roomNumber', 'B-7'],
    ['createTimestamp', '20200101000000Z'],
  ],
  ben: [
    ['employeeNumber', '12'],
    ['carLicense', '12'],
    ['createTimestamp', '20210101000000Z'],
  ],
  cleo: [
    ['employeeType', 'disabled'],
    ['createTimestamp', '20220101000000Z'],
  ],
  dan: [['createTimestamp', '20230101000000Z']],
  team: [['roomNumber', '12']],
};

export function scimLdif(people = SCIM_PEOPLE, groups = SCIM_GROUPS): string {
  return addAttributes(buildLdif(people, groups), ATTRIBUTES);
}
