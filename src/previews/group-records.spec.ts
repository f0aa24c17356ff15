import fc from 'fast-check';
import {
  applyRecord,
  definedOf,
  entryOf,
  rawAttributes,
  withoutRefusal,
} from '../../test/support/builders/model-entry.js';
import { NAUGHTY_STRINGS } from '../../test/support/builders/naughty-strings.js';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { named } from '../../test/support/builders/named-subject.js';
import { configFor, readConfig } from '../config/config.js';
import { builtInConfig, NO_SAMPLE } from '../../test/support/builders/built-in-config.js';
import { foldValue } from '../ldap/naming/dn.js';
import { keyOfDn } from '../ldap/naming/identifiers.js';
import type { Entry } from '../ldap/entry.js';
import type { ChangeRecord } from '../ldap/ldif/ldif-record.js';
import { GROUP_FIELDS } from '../groups/group.fields.js';
import { GroupRole } from '../groups/group.model.js';
import { memberAttributesOf } from '../config/model/mapping.js';
import { mapGroup, type MappedGroup } from '../mirror/map/map.js';
import { keysOfEntry, type NamedAs, type RoleSum } from '../sources/references.js';
import {
  buildNewGroup,
  changeNames as changeNamesIn,
  type MembershipChange,
  type MirroredGroup,
  type NamedEntry,
  namingAfter,
  NOT_NAMED,
} from './group-records.js';
import { changeFields } from './records.js';
import { type FieldChanges, type NewGroup, validateChange } from './values.js';

const directory = builtInConfig().directory.mapping;
const mapping = directory.groups;
const DN = 'cn=chess-club,ou=groups,dc=example,dc=org';
const GO = 'cn=go,ou=groups,dc=example,dc=org';
const ADA = 'uid=ada,ou=people,dc=example,dc=org';
const BOB = 'uid=bob,ou=people,dc=example,dc=org';
const { MEMBER, OWNER } = GroupRole;

function groupEntry(attributes: Record<string, string[]>, dn = DN): Entry {
  const objectClass = ['groupOfNames', 'directoryGroup'];
  return entryOf(dn, { objectClass, cn: ['chess-club'], member: [ADA], ...attributes });
}

function mapped(entry: Entry, by = mapping): MappedGroup {
  const { value } = mapGroup(entry, by);
  if (value === null) throw new Error('the entry is no group');
  return value;
}

function storedGroup(entry: Entry, by = mapping): MirroredGroup {
  const { uuid, dn, id } = mapped(entry, by);
  const attributes = rawAttributes(entry, memberAttributesOf(by));
  const memberValues = entry.bytes('member').length;
  return {
    kind: 'group',
    key: 1,
    uuid,
    dn,
    id,
    attributes,
    memberValues,
    ownerValues: 0,
    membersVisibleTo: 0,
  };
}

function change(entry: Entry, wanted: FieldChanges, by = mapping) {
  return changeFields(storedGroup(entry, by), wanted, { ...directory, groups: by });
}

/** The entry of a new group. */
function create(group: NewGroup, creator: NamedEntry | null, groups = mapping) {
  return buildNewGroup(group, creator, { ...directory, groups }).record;
}

describe('the change of a group', () => {
  it('keeps the label of the website', () => {
    const entry = groupEntry({ labeledURI: ['https://example.org The Chess Club', 'https://example.org/2'] });
    const { record } = change(entry, { website: 'https://chess.example.org' });
    expect(record).toMatchObject({
      changes: [
        { operation: 'delete', values: ['https://example.org The Chess Club', 'https://example.org/2'] },
        { operation: 'add', values: ['https://chess.example.org The Chess Club', 'https://example.org/2'] },
      ],
    });
  });

  it('is a conflict for an attribute that no class of the group has', () => {
    for (const kind of ['389ds', 'freeipa'] as const) {
      const { groups } = configFor(builtInConfig(), kind).directory.mapping;
      const classes = ['top', 'groupOfNames', 'nestedGroup', 'ipaUserGroup', 'ipaObject', 'posixGroup'];
      const recordOf = (attributes: Record<string, string[]>, wanted: FieldChanges) =>
        change(groupEntry({ objectClass: classes, ...attributes }), wanted, groups).record;
      for (const wanted of [{ name: 'Chess' }, { website: 'https://a.example' }, { email: 'a@b.example' }])
        expect(() => recordOf({}, wanted)).toThrow(
          expect.objectContaining({
            code: 'CONFLICT',
            details: { argument: Object.keys(wanted)[0] },
          }) as Error,
        );
      expect(recordOf({}, { description: 'Chess' })).toMatchObject({
        changes: [{ operation: 'add', attribute: 'description' }],
      });
      // Another class, or a value, shows that the schema has more.
      const extended = { objectClass: [...classes, 'mailGroup'] };
      expect(recordOf(extended, { email: 'a@b.example' })).toMatchObject({
        changes: [{ operation: 'add', attribute: 'mail' }],
      });
      expect(recordOf({ displayName: ['Old'] }, { name: 'New' })).toMatchObject({
        changes: [{ values: ['Old'] }, { values: ['New'] }],
      });
    }
  });

  it('sets the given values, and keeps all others', () => {
    const text = fc.constantFrom(
      'Chess',
      'chess',
      ' CHESS ',
      'Go',
      'Ä',
      'a\u0308',
      ...NAUGHTY_STRINGS.slice(1),
    );
    const url = fc.oneof(
      text,
      fc.constantFrom(
        'https://a.example',
        'https://a.example Label',
        'https://b.example',
        'ftp://b.example Label',
      ),
    );
    const values = (of: fc.Arbitrary<string>) => fc.uniqueArray(of, { maxLength: 3, selector: foldValue });
    const entries = fc
      .record({ displayName: values(text), description: values(text), labeledURI: values(url) })
      .map((attributes) => groupEntry(attributes));
    const inputs = fc.record(
      { name: text, description: fc.option(text), website: fc.option(url), email: fc.constant('a@b') },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(entries, inputs, (entry, input) => {
        const wanted = withoutRefusal(() => validateChange({ group: { id: '' }, ...input }, GROUP_FIELDS));
        const outcome = wanted && withoutRefusal(() => change(entry, wanted));
        if (outcome === null) return;
        const after = applyRecord(entry, outcome.record);
        expect(mapped(after)).toEqual({ ...mapped(entry), ...definedOf(wanted) });
        expect(storedGroup(after).attributes).toEqual(outcome.attributes);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a new group', () => {
  const group: NewGroup = {
    id: 'go',
    name: 'Go Club',
    description: 'Stones\non a board',
    website: 'https://go.example.org',
    email: 'go@example.org',
  };

  it('has the attributes of Active Directory, which allows a group without members', () => {
    const { groups } = configFor(builtInConfig(), 'samba').directory.mapping;
    expect(create({ ...group, name: 'Go' }, null, groups)).toEqual({
      dn: 'cn=go,dc=example,dc=org',
      changetype: 'add',
      attributes: [
        { attribute: 'objectClass', values: ['group'] },
        { attribute: 'sAMAccountName', values: ['go'] },
        { attribute: 'displayName', values: ['Go'] },
        { attribute: 'cn', values: ['go'] },
        { attribute: 'description', values: ['Stones\non a board'] },
        { attribute: 'wWWHomePage', values: ['https://go.example.org'] },
        { attribute: 'mail', values: ['go@example.org'] },
      ],
    });
    expect(entryOfNew(create(group, named(ADA), groups)).text('managedBy')).toEqual([ADA]);
  });

  it('contains itself without a creator, and has the given values only', () => {
    const bare = { ...group, description: null, website: null, email: null };
    expect(create(bare, null)).toMatchObject({
      attributes: [
        { attribute: 'objectClass' },
        { attribute: 'cn' },
        { attribute: 'displayName' },
        { attribute: 'member', values: [GO] },
      ],
    });
  });

  it('has its creator in the form of members that its class requires, or else in the first one that it can have', () => {
    const namesIn = (classes: string) => {
      const forms = '[{attribute: memberUid, by: id}, {attribute: member, by: dn}]';
      const { groups } = readConfig(modelSetting(`groups: {classes: ${classes}, members: ${forms}}`))
        .directory.mapping;
      const creator = { ...named(ADA, 'person'), id: 'ada' };
      const bare = { ...group, name: 'go', website: null, email: null };
      const created = entryOfNew(create(bare, creator, groups));
      return [created.text('member'), created.text('memberUid')];
    };
    expect(namesIn('[groupOfNames, posixGroup]')).toEqual([[ADA], []]);
    expect(namesIn('[top, posixGroup, schoolGroup]')).toEqual([[], ['ada']]);
  });

  it('has the value of its RDN, also if the name is read from that attribute', () => {
    const model = 'server: samba\ngroups: {name: CN}';
    const { groups } = readConfig({ ...NO_SAMPLE, ...modelSetting(model) }).directory.mapping;
    expect(() => create(group, null, groups)).toThrow('the name of a group is its id');
    const created = entryOfNew(create({ ...group, name: 'go' }, null, groups));
    expect([created.dn, created.text('cn')]).toEqual(['cn=go,dc=example,dc=org', ['go']]);
  });
});

function entryOfNew(record: ChangeRecord): Entry {
  if (record.changetype !== 'add') throw new Error(`not a new entry: ${record.changetype}`);
  return entryOf(
    record.dn,
    Object.fromEntries(record.attributes.map(({ attribute, values }) => [attribute, [...values]])),
  );
}

function changeNames(
  group: MirroredGroup,
  named: NamedEntry,
  before: NamedAs,
  after: RoleSum,
  groups = mapping,
) {
  return changeNamesIn(group, named, before, after, { ...directory, groups });
}

/** The attributes by which a group names a user after a change, where no attribute of the user names the group. */
const afterChange = (
  change: MembershipChange,
  namedAs: NamedAs,
  effective: GroupRole | null,
  role: GroupRole = MEMBER,
) => namingAfter({ namedAs, role: effective, isNamedByUser: false }, change, role);

function namingIn(entry: Entry, dn: string): NamedAs {
  return mapGroup(entry, mapping).value?.references.get(keyOfDn(dn)) ?? NOT_NAMED;
}

describe('the attributes of a membership', () => {
  it('cannot be changed where an attribute of the user names the group', () => {
    const membership = { namedAs: NOT_NAMED, role: MEMBER, isNamedByUser: true };
    const conflict = expect.objectContaining({ code: 'CONFLICT', details: { argument: 'user' } }) as Error;
    expect(() => namingAfter(membership, 'add', MEMBER)).toThrow(conflict);
    expect(() => namingAfter(membership, 'update', OWNER)).toThrow(conflict);
    expect(() => namingAfter(membership, 'remove', MEMBER)).toThrow(conflict);
    expect(namingAfter(membership, 'add', OWNER)).toBe(4);
  });
});

describe('the record of a membership', () => {
  it('adds the class that admins require, if it is missing', () => {
    const group = storedGroup(groupEntry({ objectClass: ['groupOfNames'], member: [ADA] }));
    expect(changeNames(group, named(ADA), 1, 3)).toMatchObject({
      record: {
        changes: [
          { operation: 'add', attribute: 'objectClass', values: ['directoryGroup'] },
          { operation: 'add', attribute: 'groupAdmin', values: [ADA] },
        ],
      },
      attributes: { objectclass: ['groupOfNames', 'directoryGroup'] },
    });
    expect(changeNames(group, named(ADA), 1, 5).record).toMatchObject({
      changes: [{ attribute: 'owner' }],
    });
  });

  it('names one owner where the directory allows one', () => {
    const { groups } = configFor(builtInConfig(), 'active-directory').directory.mapping;
    const group = { ...storedGroup(groupEntry({ member: [ADA] })), ownerValues: 1 };
    expect(() => changeNames(group, named(ADA), 1, 5, groups)).toThrow(
      expect.objectContaining({ code: 'CONFLICT', details: { argument: 'role' } }) as Error,
    );
    expect(changeNames({ ...group, ownerValues: 0 }, named(ADA), 1, 5, groups).record).toMatchObject({
      changes: [{ operation: 'add', attribute: 'managedBy', values: [ADA] }],
    });
    expect(changeNames(group, named(ADA), 5, 1, groups).record).toMatchObject({
      changes: [{ operation: 'delete', attribute: 'managedBy', values: [ADA] }],
    });
  });

  describe('in a directory of two attributes of members', () => {
    const { groups } = configFor(builtInConfig(), '389ds').directory.mapping;
    const changesOf = (before: NamedAs, after: NamedAs, ...objectClass: string[]) => {
      const group = storedGroup(groupEntry({ objectClass: ['top', ...objectClass] }));
      const { record } = changeNames(group, named(ADA), before, after, groups);
      return record.changetype === 'modify' ? record.changes : [];
    };

    it.each([
      ['member', ['GroupOfNames']],
      ['uniqueMember', ['groupOfUniqueNames']],
      ['uniqueMember', ['groupOfUniqueNames', 'posixGroup']],
    ])('names %s in a %s, which can be empty', (attribute, classes) => {
      const values = [ADA];
      expect(changesOf(NOT_NAMED, 1, ...classes)).toEqual([{ operation: 'add', attribute, values }]);
      expect(changesOf(1, NOT_NAMED, ...classes)).toEqual([{ operation: 'delete', attribute, values }]);
    });

    it.each([
      [['groupOfNames', 'groupOfUniqueNames']],
      [['groupOfUniqueNames', 'extensibleObject']],
      [['posixGroup']],
    ])('removes no value from a %s, which can have both', (classes) => {
      expect(changesOf(NOT_NAMED, 1, ...classes)).toMatchObject([{ attribute: 'member' }]);
      expect(() => changesOf(1, NOT_NAMED, ...classes)).toThrow('members in member or uniqueMember');
    });
  });

  describe('in a directory of two forms of members', () => {
    const forms = '[{attribute: member, by: dn}, {attribute: memberUid, by: id}]';
    const { groups } = readConfig(modelSetting(`groups: {members: ${forms}}`)).directory.mapping;
    const ada = { ...named(ADA, 'person'), id: 'ada' };
    const keys = keysOfEntry('person', { ...ada, dnKey: keyOfDn(ADA) }, ['dn', 'id']);
    const changesOf = (before: NamedAs, after: NamedAs, ...objectClass: string[]) => {
      const group = { ...storedGroup(groupEntry({ objectClass, member: [BOB] })), memberValues: 2 };
      const { record, attributes } = changeNames(group, ada, before, after, groups);
      const { value } = mapGroup(entryOf(DN, attributes as Record<string, string[]>), groups);
      const namedAs = keys.reduce((sum, key) => sum | (value?.references.get(key) ?? NOT_NAMED), NOT_NAMED);
      return { changes: record.changetype === 'modify' ? record.changes : [], namedAs };
    };
    const BOTH = 1 + 8;

    it.each([
      ['member', ADA, 1, ['groupOfNames', 'posixGroup']],
      ['member', ADA, 1, ['groupOfNames']],
      ['memberUid', 'ada', 8, ['top', 'posixGroup']],
      ['member', ADA, 1, ['ownGroup']],
    ] as const)(
      'names a new member in %s, where the classes allow it',
      (attribute, value, namedAs, classes) => {
        const changes = [{ operation: 'add', attribute, values: [value] }];
        expect(changesOf(NOT_NAMED, 1, ...classes)).toEqual({ changes, namedAs });
      },
    );

    it('removes a member from each form that has the name, and changes nothing else', () => {
      const [member, memberUid] = [
        { operation: 'delete', attribute: 'member', values: [ADA] },
        { operation: 'delete', attribute: 'memberUid', values: ['ada'] },
      ];
      const classes = ['groupOfNames', 'posixGroup'];
      expect(changesOf(BOTH, NOT_NAMED, ...classes)).toEqual({ changes: [member, memberUid], namedAs: 0 });
      expect(changesOf(8, NOT_NAMED, ...classes)).toEqual({ changes: [memberUid], namedAs: 0 });
    });

    it('keeps the forms of a member who becomes an owner', () => {
      const changes = [{ operation: 'add', attribute: 'owner', values: [ADA] }];
      expect(changesOf(8, afterChange('update', 8, MEMBER, OWNER), 'posixGroup')).toEqual({
        changes,
        namedAs: 8 + 4,
      });
      expect(afterChange('update', 8 + 4, OWNER)).toBe(1);
    });
  });

  it('changes the role of this user, and of no other', () => {
    const naming = fc.integer({ min: 0, max: 7 });
    fc.assert(
      fc.property(naming, naming, fc.boolean(), (before, after, hasClass) => {
        const held = (bit: number) => (before & bit ? [ADA] : []);
        const entry = groupEntry({
          ...(hasClass ? {} : { objectClass: ['groupOfNames'] }),
          member: [BOB, ...held(1)],
          groupAdmin: held(2),
          owner: [...held(4), BOB],
        });
        fc.pre(before !== after);
        const { record, attributes } = changeNames(storedGroup(entry), named(ADA), before, after);
        const applied = applyRecord(entry, record);
        expect([namingIn(applied, ADA), namingIn(applied, BOB)]).toEqual([after, 5]);
        const staged = entryOf(DN, attributes as Record<string, string[]>);
        expect([namingIn(staged, ADA), namingIn(staged, BOB)]).toEqual([after, NOT_NAMED]);
        expect(rawAttributes(staged, memberAttributesOf(mapping))).toEqual(storedGroup(applied).attributes);
      }),
    );
  });
});
