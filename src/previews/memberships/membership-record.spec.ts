import fc from 'fast-check';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import { named } from '../../../test/support/builders/named-subject.js';
import { applyRecord, entryOf, rawAttributes } from '../../../test/support/builders/model-entry.js';
import { configFor, readConfig } from '../../config/config.js';
import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import type { Entry } from '../../ldap/entry.js';
import { GroupRole } from '../../groups/group.model.js';
import { memberAttributesOf } from '../../config/model/mapping.js';
import { mapGroup } from '../../mirror/map/map.js';
import type { NamedAs } from '../../mirror/map/named-by.js';
import {
  addNaming,
  changeNames,
  changeNaming,
  NOT_NAMED,
  removeNaming,
  roleOfNaming,
} from './membership-record.js';
import type { OriginalGroup } from '../stored-entry.js';

const mapping = builtInConfig().directory.mapping.groups;
const { MEMBER, ADMIN, OWNER } = GroupRole;
const DN = 'cn=chess-club,ou=groups,dc=example,dc=org';
const ADA = 'uid=ada,ou=people,dc=example,dc=org';
const BOB = 'uid=bob,ou=people,dc=example,dc=org';

function groupEntry(attributes: Record<string, string[]>): Entry {
  const objectClass = ['groupOfNames', 'directoryGroup'];
  return entryOf(DN, { objectClass, cn: ['chess-club'], displayName: ['Chess Club'], ...attributes });
}

function storedGroup(entry: Entry): OriginalGroup {
  const { value } = mapGroup(entry, mapping);
  if (value === null) throw new Error('the entry is no group');
  const { uuid, dn, id } = value;
  const attributes = rawAttributes(entry, memberAttributesOf(mapping));
  return { uuid, dn, id, attributes, memberValues: entry.bytes('member').length };
}

function namingIn(entry: Entry, dn: string): NamedAs {
  return mapGroup(entry, mapping).value?.references.get(keyOfDn(dn)) ?? NOT_NAMED;
}

describe('the attributes of a membership', () => {
  it.each([
    [MEMBER, 1],
    [ADMIN, 2],
    [OWNER, 4],
  ])('include that of the role, when a user is added as %s', (role, naming) => {
    expect(addNaming({ namedAs: NOT_NAMED, role: null }, role)).toBe(naming);
    expect(addNaming({ namedAs: NOT_NAMED, role: OWNER }, role)).toBe(naming);
  });

  it('cannot be changed where an attribute of the user names the group', () => {
    const membership = { namedAs: NOT_NAMED, role: MEMBER, isNamedByUser: true };
    const conflict = expect.objectContaining({ code: 'CONFLICT', details: { argument: 'user' } }) as Error;
    expect(() => addNaming(membership, MEMBER)).toThrow(conflict);
    expect(() => changeNaming(membership, OWNER)).toThrow(conflict);
    expect(() => removeNaming(membership)).toThrow(conflict);
    expect(addNaming(membership, OWNER)).toBe(4);
  });

  it('reject a role for which groups have no attribute', () => {
    const { groups } = configFor(builtInConfig(), 'samba').directory.mapping;
    const group = storedGroup(groupEntry({ member: [BOB] }));
    expect(() => changeNames(group, named(ADA), NOT_NAMED, 2, groups)).toThrow(
      expect.objectContaining({ code: 'CONFLICT', details: { argument: 'role' } }) as Error,
    );
  });

  it.each([1, 2, 3, 4, 5, 6, 7])('reject an addition to %d', (namedAs) => {
    expect(() => addNaming({ namedAs, role: roleOfNaming(namedAs) }, OWNER)).toThrow(
      expect.objectContaining({ code: 'CONFLICT', details: { argument: 'user' } }) as Error,
    );
  });

  it.each([
    [1, ADMIN, 3],
    [1, OWNER, 5],
    [2, MEMBER, 1],
    [2, OWNER, 6],
    [3, MEMBER, 1],
    [3, OWNER, 7],
    [4, MEMBER, 1],
    [4, ADMIN, 2],
    [5, MEMBER, 1],
    [5, ADMIN, 3],
    [6, ADMIN, 2],
    [7, MEMBER, 1],
    [7, ADMIN, 3],
  ])('change from %d to %s: %d', (namedAs, role, naming) => {
    expect(changeNaming({ namedAs, role: OWNER }, role)).toBe(naming);
    expect(roleOfNaming(naming)).toBe(role);
  });

  it('reject a change to the current role', () => {
    expect(() => changeNaming({ namedAs: 3, role: OWNER }, ADMIN)).toThrow(
      expect.objectContaining({ code: 'BAD_USER_INPUT', details: { argument: 'role' } }) as Error,
    );
  });

  it.each([
    ['NOT_FOUND', null],
    ['CONFLICT', MEMBER],
  ])('reject a change or a removal of a missing member: %s', (code, role) => {
    const refused = expect.objectContaining({ code, details: { argument: 'user' } }) as Error;
    expect(() => changeNaming({ namedAs: NOT_NAMED, role }, ADMIN)).toThrow(refused);
    expect(() => removeNaming({ namedAs: NOT_NAMED, role })).toThrow(refused);
  });
});

describe('the record of a membership', () => {
  it('adds a member', () => {
    const entry = groupEntry({ member: [ADA] });
    const group = storedGroup(entry);
    expect(changeNames(group, named(BOB), NOT_NAMED, 1, mapping)).toEqual({
      record: {
        dn: DN,
        changetype: 'modify',
        changes: [{ operation: 'add', attribute: 'member', values: [BOB] }],
      },
      attributes: group.attributes,
      namedAs: 1,
    });
  });

  it('adds the class that admins require, if it is missing', () => {
    const group = storedGroup(groupEntry({ objectClass: ['groupOfNames'], member: [ADA] }));
    expect(changeNames(group, named(ADA), 1, 3, mapping)).toMatchObject({
      record: {
        changes: [
          { operation: 'add', attribute: 'objectClass', values: ['directoryGroup'] },
          { operation: 'add', attribute: 'groupAdmin', values: [ADA] },
        ],
      },
      attributes: { objectclass: ['groupOfNames', 'directoryGroup'] },
    });
    expect(changeNames(group, named(ADA), 1, 5, mapping).record).toMatchObject({
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
    expect(() => changeNames(group, named(ADA), 1, NOT_NAMED, mapping)).toThrow(
      expect.objectContaining({ code: 'CONFLICT' }) as Error,
    );
    expect(changeNames(group, named(BOB), 4, NOT_NAMED, mapping).record).toMatchObject({
      changes: [{ operation: 'delete', attribute: 'owner', values: [BOB] }],
    });
  });

  it('is accepted if the class of groups allows none', () => {
    const { groups } = readConfig(modelSetting('groups: {classes: groupOfMembers}')).directory.mapping;
    const group = storedGroup(groupEntry({ member: [ADA] }));
    expect(changeNames(group, named(ADA), 1, NOT_NAMED, groups).record).toMatchObject({
      changes: [{ operation: 'delete', attribute: 'member', values: [ADA] }],
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
    const ada = { ...named(ADA), id: 'ada' };
    const changesOf = (before: NamedAs, after: NamedAs, ...objectClass: string[]) => {
      const group = { ...storedGroup(groupEntry({ objectClass, member: [BOB] })), memberValues: 2 };
      const { record, namedAs } = changeNames(group, ada, before, after, groups);
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
      expect(changesOf(8, changeNaming({ namedAs: 8, role: MEMBER }, OWNER), 'posixGroup')).toEqual({
        changes,
        namedAs: 8 + 4,
      });
      expect(changeNaming({ namedAs: 8 + 4, role: OWNER }, MEMBER)).toBe(1);
    });

    it('leaves a member in the form that the class requires', () => {
      const group = { ...storedGroup(groupEntry({ member: [ADA] })), memberValues: 1 };
      expect(() => changeNames(group, ada, BOTH, NOT_NAMED, groups)).toThrow(
        expect.objectContaining({ code: 'CONFLICT' }) as Error,
      );
      expect(changeNames(group, { ...named(BOB), id: 'bob' }, 8, NOT_NAMED, groups).record).toMatchObject({
        changes: [{ operation: 'delete', attribute: 'memberUid' }],
      });
    });

    it('names a group by DN', () => {
      const group = storedGroup(groupEntry({ objectClass: ['top', 'posixGroup'] }));
      expect(changeNames(group, named(ADA), NOT_NAMED, 1, groups).record).toMatchObject({
        changes: [{ operation: 'add', attribute: 'member', values: [ADA] }],
      });
    });
  });

  it('deletes nothing if one attribute stands for two roles', () => {
    const { groups } = readConfig(modelSetting('groups: {admins: {attribute: Owner}}')).directory.mapping;
    const group = storedGroup(groupEntry({ member: [ADA], owner: [BOB] }));
    expect(changeNames(group, named(BOB), 4, 3, groups).record).toMatchObject({
      changes: [{ operation: 'add', attribute: 'member', values: [BOB] }],
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
        const { record, attributes } = changeNames(storedGroup(entry), named(ADA), before, after, mapping);
        const applied = applyRecord(entry, record);
        expect([namingIn(applied, ADA), namingIn(applied, BOB)]).toEqual([after, 5]);
        expect(storedGroup(applied).attributes).toEqual(attributes);
      }),
    );
  });
});
