import { escapeDnValue } from '../../src/ldap/naming/dn.js';
import { BASE_DN } from '../support/builders/directory.js';
import { ldifOf, type Mutation, RoundTrip, SENTINEL } from '../support/clients/round-trip.js';

/**
 * Result codes of a directory for outdated records: noSuchAttribute, attributeOrValueExists, noSuchObject, entryAlreadyExists,
 * assertionFailed.
 */
const STALE = [16, 20, 32, 68, 122];

/** An id is shown without leading and trailing white space. */
const ODD_PERSON = ' Zoë, "née" <Ø>;+\\#= ';
const ODD_GROUP = 'Gruppe ö, "ä" + 2';

const person = (id: string) => `uid=${escapeDnValue(id)},ou=people,${BASE_DN}`;
const group = (id: string) => `cn=${escapeDnValue(id)},ou=groups,${BASE_DN}`;

type Attributes = Record<string, string | string[]>;

function entry(dn: string, attributes: Attributes): string {
  const line = (name: string, value: string) => `${name}:: ${Buffer.from(value).toString('base64')}`;
  const lines = Object.entries(attributes).flatMap(([name, values]) =>
    [values].flat().map((value) => line(name, value)),
  );
  return `\n${line('dn', dn)}\n${lines.join('\n')}\n`;
}

function personEntry(id: string, attributes: Attributes = {}): string {
  return entry(person(id), {
    objectClass: 'inetOrgPerson',
    uid: id,
    cn: `Person ${id}`,
    sn: id,
    ...attributes,
  });
}

/** The sentinel is in all of them. */
function groupEntry(id: string, { member = [], ...attributes }: Attributes = {}): string {
  return entry(group(id), {
    objectClass: ['groupOfNames', 'directoryGroup'],
    cn: id,
    member: [...[member].flat(), person(SENTINEL)],
    ...attributes,
  });
}

const DIRECTORY = [
  personEntry('me'),
  personEntry('plain'),
  personEntry('several', {
    objectClass: ['inetOrgPerson', 'directoryPerson'],
    mail: ['first@example.org', 'SECOND@example.org', 'third@example.org'],
    displayName: 'First',
    sn: ['One', 'Two'],
    givenName: ['G1', 'G2'],
    schoolYear: '1A',
  }),
  personEntry('spaced', {
    displayName: '  In  the middle ',
    sn: ' Martin ',
    givenName: '\tTabbed',
    mail: ' a@example.org',
  }),
  personEntry('blank', { displayName: '   ', givenName: ' ' }),
  personEntry(ODD_PERSON),
  groupEntry('everyone', {
    member: ['me', 'plain', 'several', 'spaced', 'blank', ODD_PERSON].map(person),
  }),
  groupEntry('bare', { objectClass: 'groupOfNames', owner: person('plain'), member: person('plain') }),
  groupEntry('labelled', {
    labeledURI: 'https://example.org/ The site',
    description: [' One ', 'Two'],
    displayName: 'Labelled',
    mail: ['x@example.org', 'y@example.org'],
  }),
  groupEntry(ODD_GROUP, { member: [person(ODD_PERSON), group('bare'), group('future'), person('nobody')] }),
  groupEntry('admins', { groupAdmin: [person('plain'), group(ODD_GROUP)], owner: person('several') }),
].join('');

const user = (id: string, input: Record<string, string | null>): Mutation => ({
  field: 'updateUser',
  input: { user: { id: id.trim() }, ...input },
  payload: 'user { id }',
});
const club = (id: string, input: Record<string, string | null>): Mutation => ({
  field: 'updateGroup',
  input: { group: { id }, ...input },
  payload: 'group { id }',
});
const member = (verb: 'add' | 'update' | 'remove', groupId: string, id: string, role?: string): Mutation => ({
  field: `${verb}GroupMember`,
  input: { group: { id: groupId }, user: { id: id.trim() }, ...(role === undefined ? {} : { role }) },
  payload: verb === 'remove' ? 'group { id }' : 'membership { role { value } }',
});

/** Each mutation requires the earlier ones. */
const CHANGES: Mutation[] = [
  user('plain', { schoolYear: '2B', name: 'Plain', givenName: 'P', email: 'plain@example.org' }),
  user('plain', { schoolYear: null, givenName: null, email: null }),
  user('several', { name: 'FIRST', email: 'second@EXAMPLE.org', familyName: 'TWO', givenName: 'New' }),
  user('several', { email: null, givenName: '', schoolYear: '' }),
  user('spaced', {
    name: 'In the middle',
    familyName: 'martin',
    givenName: 'Tabbed twice',
    email: 'b@example.org',
  }),
  user('spaced', { givenName: null, email: null }),
  user('blank', { name: 'Filled', givenName: 'Too', schoolYear: '3C' }),
  user(ODD_PERSON, { name: 'Zoë', email: 'zoe@example.org', schoolYear: '1A' }),
  club('bare', { name: 'Not bare', website: 'https://example.org/bare', email: 'bare@example.org' }),
  club('labelled', {
    website: 'https://example.org/other',
    description: 'Two',
    name: 'Other',
    email: 'z@example.org',
  }),
  club('labelled', { website: null, description: null, email: null }),
  club(ODD_GROUP, { name: 'Grüppchen', description: 'Zeile 1\n\tZeile 2' }),
  member('update', 'bare', 'plain', 'ADMIN'),
  member('update', 'bare', 'plain', 'MEMBER'),
  member('add', 'bare', ODD_PERSON, 'OWNER'),
  member('update', 'bare', ODD_PERSON, 'MEMBER'),
  member('remove', 'bare', 'plain'),
  member('remove', 'everyone', ODD_PERSON),
  member('add', 'admins', ODD_PERSON, 'ADMIN'),
  {
    field: 'createGroup',
    input: { id: 'inside', name: 'Inside', parent: { id: ODD_GROUP } },
    payload: 'group { id }',
  },
  member('add', 'inside', SENTINEL),
  member('add', 'inside', 'me', 'OWNER'),
  // Referenced before its creation: it becomes a member when it is created, and is referenced once.
  {
    field: 'createGroup',
    input: { id: 'future', name: 'Future', parent: { id: ODD_GROUP } },
    payload: 'group { id }',
  },
  member('add', 'future', SENTINEL),
  { field: 'deleteGroup', input: { group: { id: ODD_GROUP } }, payload: 'deletedGroupId' },
];

describe('a preview of unusual entries', () => {
  let trip: RoundTrip;

  beforeEach(async () => {
    trip = await RoundTrip.start(DIRECTORY, 'me');
  });

  afterEach(() => trip.stop());

  it('shows the state after all records are applied at once', async () => {
    const { promised, answered, codes } = await trip.perform(CHANGES);
    expect(codes).toEqual([]);
    expect(answered).toEqual(promised);
  });

  it('shows the state after each record, and the directory rejects each record a second time', async () => {
    for (const change of CHANGES) {
      const { promised, answered, codes, ldif } = await trip.perform([change]);
      expect([change.input, codes]).toEqual([change.input, []]);
      expect(answered).toEqual(promised);
      const code = await trip.apply(ldif);
      expect([change.input, STALE.includes(code)]).toEqual([change.input, true]);
    }
  });

  it('is rejected by the directory after a concurrent change', async () => {
    const texts = CHANGES.slice(0, 12).filter((_, index) => ![1, 3, 5, 10].includes(index));
    const previews = await Promise.all(texts.map((change) => trip.preview([change])));
    const replace = (dn: string, name: string, value: string) =>
      entry(dn, { changetype: 'modify', replace: name, [name]: value });
    const people = ['plain', 'several', 'spaced', 'blank', ODD_PERSON].map((id) =>
      replace(person(id), 'displayName', 'X'),
    );
    const groups = ['bare', 'labelled', ODD_GROUP].map((id) => replace(group(id), 'description', 'X'));
    const bare = entry(group('bare'), {
      changetype: 'modify',
      add: 'objectClass',
      objectClass: 'directoryGroup',
    });
    await trip.directory.change(...people, ...groups, bare);
    for (const { payloads } of previews) {
      const code = await trip.apply(ldifOf(payloads));
      expect([ldifOf(payloads), STALE.includes(code)]).toEqual([ldifOf(payloads), true]);
    }
    await trip.catchUp();
    for (const { payloads } of await Promise.all(texts.map((change) => trip.preview([change])))) {
      expect([await trip.apply(ldifOf(payloads)), trip.lastOutput]).toEqual([0, '']);
    }
  });
});
