import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { Entry } from '../../ldap/entry.js';
import { parseRfc3339 } from './entry-reader.js';
import { mapGroup, mapPerson } from './map.js';

const { users: people, groups } = builtInConfig().directory.mapping;
const UUID = '13c9344a-4b2d-4c04-9990-c46e3e228514';

type Values = Record<string, (string | Buffer)[] | string | Buffer>;

function entry(values: Values, dn = 'uid=anna,ou=people,dc=example,dc=org'): Entry {
  return new Entry(
    dn,
    Object.entries(values).map(([name, value]) => [name, [value].flat().map((each) => Buffer.from(each))]),
  );
}

function person(values: Values, dn?: string) {
  return mapPerson(entry({ uid: 'anna', cn: 'Anna', entryUUID: UUID, ...values }, dn), people);
}

function group(values: Values) {
  return mapGroup(entry({ cn: 'club', ...values }, 'cn=club,ou=groups,dc=example,dc=org'), groups);
}

describe('the mapping of a user', () => {
  it('reads every attribute of the mapping', () => {
    const photo = Buffer.from([1]);
    const picture = Buffer.from([2]);
    const { value, quarantined } = person({
      displayName: 'Anna Åberg',
      givenName: 'Anna',
      sn: 'Åberg',
      mail: 'anna@example.org',
      schoolYear: '1A',
      jpegPhoto: photo,
      profilePicture: picture,
      createTimestamp: '20240229080910Z',
      objectClass: ['inetOrgPerson', 'DirectoryPerson'],
    });
    expect(value).toEqual({
      uuid: UUID,
      dn: 'uid=anna,ou=people,dc=example,dc=org',
      dnKey: keyOfDn('uid=anna,ou=people,dc=example,dc=org'),
      id: 'anna',
      name: 'Anna Åberg',
      givenName: 'Anna',
      familyName: 'Åberg',
      email: 'anna@example.org',
      schoolYear: '1A',
      photo,
      picture,
      active: true,
      createdAt: new Date('2024-02-29T08:09:10Z'),
    });
    expect(quarantined).toEqual([]);
  });

  it('identifies an entry without entryUUID by its DN, in any spelling', () => {
    const without = (dn: string) => mapPerson(entry({ uid: 'anna', cn: 'Anna' }, dn), people).value?.uuid;
    expect(without('uid=Anna, ou=people,dc=example,dc=org')).toBe(
      without('UID=anna,ou=people,dc=example,dc=org'),
    );
  });

  it('replaces the ends of lines and control characters by spaces in values of one line', () => {
    const values = {
      uid: 'an\tna',
      cn: ' Anna\r\nAdams\u2028\n',
      givenName: 'A\u0001n\u007fn\u0085a',
      schoolYear: '1\nA',
    };
    const { value, quarantined } = person({ ...values, displayName: [] });
    expect(value).toMatchObject({
      ...{ id: 'an na', name: 'Anna Adams', givenName: 'A n n a', schoolYear: '1 A' },
    });
    expect(quarantined).toEqual([]);
    const club = group({ cn: 'chess\nclub', description: 'Two\nlines' }).value;
    expect(club).toMatchObject({ id: 'chess club', name: 'chess club', description: 'Two\nlines' });
  });
});

describe('the mapping of a group', () => {
  it('reads the DNs of each attribute with the role of the attribute', () => {
    const { value } = group({ member: ['uid=a', 'uid=b'], groupAdmin: 'uid=c', owner: 'uid=d' });
    expect([...(value?.references ?? [])]).toEqual([
      [keyOfDn('uid=a'), 1],
      [keyOfDn('uid=b'), 1],
      [keyOfDn('uid=c'), 2],
      [keyOfDn('uid=d'), 4],
    ]);
  });

  it('reads each form of members, and joins the roles in which one names an entry', () => {
    const forms = [
      { attributes: ['member'], by: 'dn' },
      { attributes: ['memberUid'], by: 'id' },
    ] as const;
    const values = { cn: 'club', member: ['uid=a', 'uid=b'], memberUid: ['Anna', 'ben'], owner: 'uid=a' };
    const { value } = mapGroup(entry(values), { ...groups, members: forms });
    expect([...(value?.references ?? [])]).toEqual([
      [keyOfDn('uid=a'), 1 + 4],
      [keyOfDn('uid=b'), 1],
      ['id:anna', 8],
      ['id:ben', 8],
    ]);
  });

  it('reads a website up to the first space', () => {
    expect(group({ labeledURI: 'https://example.org/club The club' }).value?.website).toBe(
      'https://example.org/club',
    );
  });

  it.each([
    ['https://user:secret@example.org/', 'has user information'],
    ['https://example.org/<b> A label', 'has spaces, control characters, quotes or markup'],
    ['data:text/html,x', 'is not an http or https URL'],
    ['nonsense', 'is not an http or https URL'],
  ])('skips the website %j', (labeledURI, reason) => {
    const { value, quarantined } = group({ labeledURI });
    expect(value?.website).toBeNull();
    expect(quarantined).toEqual([expect.objectContaining({ attribute: 'labeledURI', reason })]);
  });
});

describe('a time of RFC 3339', () => {
  it.each([
    ['2024-02-29T08:09:10Z', '2024-02-29T08:09:10.000Z'],
    ['2024-02-29T08:09:10+00:00', '2024-02-29T08:09:10.000Z'],
    ['2024-02-29T08:09:10.123456789+01:30', '2024-02-29T06:39:10.123Z'],
  ])('%s is read', (text, instant) => {
    expect(parseRfc3339(text)?.toISOString()).toBe(instant);
  });

  it.each([
    '',
    '2023-02-29T08:09:10Z',
    '2024-13-01T00:00:00Z',
    '2024-02-29T08:09:10',
    '2024-02-29',
    '20240229080910Z',
  ])('«%s» is not taken for one', (text) => {
    expect(parseRfc3339(text)).toBeNull();
  });

  it('is when an entry was created', () => {
    const { value } = person({ createTimestamp: '2024-02-29T08:09:10+00:00' });
    expect(value?.createdAt).toEqual(new Date('2024-02-29T08:09:10Z'));
  });
});
