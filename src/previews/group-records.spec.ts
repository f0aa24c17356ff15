import fc from 'fast-check';
import { applyRecord, entryOf } from '../../test/support/builders/model-entry.js';
import { mapped, storedGroup, withoutRefusal } from '../../test/support/builders/mirrored-group.js';
import { NAUGHTY_STRINGS } from '../../test/support/builders/naughty-strings.js';
import { ServiceError } from '../common/errors.js';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { named } from '../../test/support/builders/named-subject.js';
import { configFor, readConfig } from '../config/config.js';
import { builtInConfig, NO_SAMPLE } from '../../test/support/builders/built-in-config.js';
import { foldValue } from '../ldap/naming/case-ignore-match.js';
import type { Entry } from '../ldap/entry.js';
import type { ChangeRecord } from '../ldap/ldif/ldif-record.js';
import { GROUP_FIELDS } from '../groups/group.fields.js';
import { mapGroup } from '../mirror/map/map.js';
import { buildGroupDeletion, buildNewGroup, type NamedEntry } from './group-records.js';
import { changeFields } from './records.js';
import { type FieldChanges, type NewGroup, validateChange } from './values.js';

const directory = builtInConfig().directory.mapping;
const mapping = directory.groups;
const DN = 'cn=chess-club,ou=groups,dc=example,dc=org';
const GO = 'cn=go,ou=groups,dc=example,dc=org';
const ADA = 'uid=ada,ou=people,dc=example,dc=org';

function groupEntry(attributes: Record<string, string[]>, dn = DN): Entry {
  const objectClass = ['groupOfNames', 'directoryGroup'];
  return entryOf(dn, { objectClass, cn: ['chess-club'], member: [ADA], ...attributes });
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

  it('drops a label that is too long', () => {
    const entry = groupEntry({ labeledURI: [`https://example.org ${'x'.repeat(9000)}`] });
    const website = `https://example.org/${'y'.repeat(1000)}`;
    const { record } = change(entry, { website });
    expect(record).toMatchObject({
      changes: [{ operation: 'delete' }, { operation: 'add', values: [website] }],
    });
  });

  it('adds the class that a name requires, if it is missing', () => {
    const entry = groupEntry({ objectClass: ['groupOfNames'] });
    expect(change(entry, { name: 'Chess Club' })).toMatchObject({
      record: {
        assertion: { kind: 'and', filters: [{ kind: 'not', filter: { attribute: 'displayName' } }] },
        changes: [
          { operation: 'add', attribute: 'objectClass', values: ['directoryGroup'] },
          { operation: 'add', attribute: 'displayName', values: ['Chess Club'] },
        ],
      },
      attributes: { objectclass: ['groupOfNames', 'directoryGroup'], displayname: ['Chess Club'] },
    });
    expect(change(entry, { description: 'Chess' }).record).toMatchObject({
      changes: [{ attribute: 'description' }],
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
        expect(mapped(after)).toEqual({ ...mapped(entry), ...defined(wanted) });
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

  it('has the given values, and its creator as owner and first member', () => {
    const record = create(group, named(ADA));
    expect(record).toEqual({
      dn: GO,
      changetype: 'add',
      attributes: [
        { attribute: 'objectClass', values: ['groupOfNames', 'directoryGroup'] },
        { attribute: 'cn', values: ['go'] },
        { attribute: 'displayName', values: ['Go Club'] },
        { attribute: 'description', values: ['Stones\non a board'] },
        { attribute: 'labeledURI', values: ['https://go.example.org'] },
        { attribute: 'mail', values: ['go@example.org'] },
        { attribute: 'owner', values: [ADA] },
        { attribute: 'member', values: [ADA] },
      ],
    });
    expect(mapped(entryOfNew(record))).toMatchObject({ ...group, dn: GO });
  });

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

  it('has no members without a creator if its class allows none', () => {
    const { groups } = readConfig(modelSetting('groups: {classes: groupOfMembers}')).directory.mapping;
    const record = create(group, null, groups);
    expect(entryOfNew(record).text('objectClass')).toEqual(['groupOfMembers']);
    expect(entryOfNew(record).text('member')).toEqual([]);
  });

  it('has a cn, with any attribute for the id', () => {
    const { groups } = readConfig(modelSetting('groups: {id: ou}')).directory.mapping;
    const record = create(group, named(ADA), groups);
    expect(record.dn).toBe('ou=go,ou=groups,dc=example,dc=org');
    expect(['ou', 'cn'].map((name) => entryOfNew(record).text(name))).toEqual([['go'], ['go']]);
  });

  it('has only attributes of its classes, and no member without a creator where groups can be empty', () => {
    for (const kind of ['389ds', 'freeipa'] as const) {
      const { groups } = configFor(builtInConfig(), kind).directory.mapping;
      const bare = { ...group, name: 'go', website: null, email: null };
      const created = entryOfNew(create(bare, null, groups));
      expect([...created.attributes.keys()]).toEqual(['objectclass', 'cn', 'description']);
      expect(mapGroup(created, groups).value).toMatchObject({ id: 'go', name: 'go' });
      const conflict = (argument: string) =>
        expect.objectContaining({ code: 'CONFLICT', details: { argument } }) as Error;
      expect(() => create({ ...bare, name: 'Go' }, null, groups)).toThrow(conflict('name'));
      expect(() => create({ ...bare, email: 'a@b' }, null, groups)).toThrow(conflict('email'));
      expect(() => create({ ...bare, website: 'https://a' }, null, groups)).toThrow(conflict('website'));
    }
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

  it('has its creator in the attribute of its class', () => {
    const model = 'server: 389ds\ngroups: {classes: [top, groupOfUniqueNames]}';
    const { groups } = readConfig({ ...NO_SAMPLE, ...modelSetting(model) }).directory.mapping;
    const bare = { ...group, name: 'go', website: null, email: null };
    const created = entryOfNew(create(bare, named(ADA), groups));
    expect([created.text('member'), created.text('uniqueMember')]).toEqual([[], [ADA]]);
  });

  it('has the value of its RDN, also if the name is read from that attribute', () => {
    const model = 'server: samba\ngroups: {name: CN}';
    const { groups } = readConfig({ ...NO_SAMPLE, ...modelSetting(model) }).directory.mapping;
    expect(() => create(group, null, groups)).toThrow('the name of a group is its id');
    const created = entryOfNew(create({ ...group, name: 'go' }, null, groups));
    expect([created.dn, created.text('cn')]).toEqual(['cn=go,dc=example,dc=org', ['go']]);
  });

  it('has its id as name if the directory uses it', () => {
    const { groups } = readConfig(modelSetting('groups: {name: CN}')).directory.mapping;
    expect(() => create(group, named(ADA), groups)).toThrow(
      new ServiceError('CONFLICT', 'In this directory the name of a group is its id', { argument: 'name' }),
    );
    const called = create({ ...group, name: 'go' }, named(ADA), groups);
    expect(entryOfNew(called).text('cn')).toEqual(['go']);
  });
});

describe('the deletion of a group', () => {
  const group = storedGroup(groupEntry({}));

  it('first removes it from the groups that contain it', () => {
    const outer = storedGroup(groupEntry({ cn: ['games'], member: [DN, ADA], owner: [DN] }, 'cn=games'));
    expect(buildGroupDeletion(group, [{ group: outer, namedAs: 5 }], directory)).toEqual([
      {
        dn: 'cn=games',
        changetype: 'modify',
        changes: [
          { operation: 'delete', attribute: 'member', values: [DN] },
          { operation: 'delete', attribute: 'owner', values: [DN] },
        ],
      },
      { dn: DN, changetype: 'delete' },
    ]);
  });

  it('is not possible while it is the only member of another one', () => {
    const outer = storedGroup(groupEntry({ cn: ['games'], member: [DN] }, 'cn=games'));
    expect(() => buildGroupDeletion(group, [{ group: outer, namedAs: 1 }], directory)).toThrow(
      expect.objectContaining({
        code: 'CONFLICT',
        message: expect.stringContaining('games') as string,
      }) as Error,
    );
  });
});

function entryOfNew(record: ChangeRecord): Entry {
  if (record.changetype !== 'add') throw new Error(`not a new entry: ${record.changetype}`);
  return entryOf(
    record.dn,
    Object.fromEntries(record.attributes.map(({ attribute, values }) => [attribute, [...values]])),
  );
}

function defined(change: FieldChanges | null): FieldChanges {
  return Object.fromEntries(Object.entries(change ?? {}).filter(([, value]) => value !== undefined));
}
