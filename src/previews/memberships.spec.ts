import fc from 'fast-check';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { named } from '../../test/support/builders/named-subject.js';
import { applyRecord, entryOf, rawAttributes } from '../../test/support/builders/model-entry.js';
import { configFor, readConfig } from '../config/config.js';
import { builtInConfig } from '../../test/support/builders/built-in-config.js';
import { keyOfDn } from '../ldap/naming/identifiers.js';
import type { Entry } from '../ldap/entry.js';
import { GroupRole } from '../groups/group.model.js';
import { memberAttributesOf } from '../config/model/mapping.js';
import { mapGroup } from '../mirror/map/map.js';
import { keysOfEntry, type NamedAs, type RoleSum } from '../sources/references.js';
import {
  changeNames as changeNamesIn,
  type MembershipChange,
  type MirroredGroup,
  type NamedEntry,
  namingAfter,
  NOT_NAMED,
} from './group-records.js';

const directory = builtInConfig().directory.mapping;
const mapping = directory.groups;
const { MEMBER, ADMIN, OWNER } = GroupRole;
const DN = 'cn=chess-club,ou=groups,dc=example,dc=org';
const ADA = 'uid=ada,ou=people,dc=example,dc=org';
const BOB = 'uid=bob,ou=people,dc=example,dc=org';

function groupEntry(attributes: Record<string, string[]>): Entry {
  const objectClass = ['groupOfNames', 'directoryGroup'];
  return entryOf(DN, { objectClass, cn: ['chess-club'], displayName: ['Chess Club'], ...attributes });
}

function storedGroup(entry: Entry): MirroredGroup {
  const { value } = mapGroup(entry, mapping);
  if (value === null) throw new Error('the entry is no group');
  const { uuid, dn, id } = value;
  const attributes = rawAttributes(entry, memberAttributesOf(mapping));
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
  it.each([
    [MEMBER, 1],
    [ADMIN, 2],
    [OWNER, 4],
  ])('include that of the role, when a user is added as %s', (role, naming) => {
    expect(afterChange('add', NOT_NAMED, null, role)).toBe(naming);
    expect(afterChange('add', NOT_NAMED, OWNER, role)).toBe(naming);
  });

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
  it('adds a member', () => {
    const entry = groupEntry({ member: [ADA] });
    const group = storedGroup(entry);
    expect(changeNames(group, named(BOB), NOT_NAMED, 1)).toEqual({
      record: {
        dn: DN,
        changetype: 'modify',
        changes: [{ operation: 'add', attribute: 'member', values: [BOB] }],
      },
      attributes: { ...group.attributes, member: [BOB] },
    });
  });

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

  it('is rejected if the group would have no members', () => {
    const group = storedGroup(groupEntry({ member: [ADA], owner: [BOB] }));
    expect(() => changeNames(group, named(ADA), 1, NOT_NAMED)).toThrow(
      expect.objectContaining({ code: 'CONFLICT' }) as Error,
    );
    expect(changeNames(group, named(BOB), 4, NOT_NAMED).record).toMatchObject({
      changes: [{ operation: 'delete', attribute: 'owner', values: [BOB] }],
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
