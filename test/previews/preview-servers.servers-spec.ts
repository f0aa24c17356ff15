import type { PresetName } from '../../src/config/model/presets/presets.js';
import { configFor, readConfig } from '../../src/config/config.js';
import type { Entry } from '../../src/ldap/entry.js';
import { readLdif } from '../../src/ldap/ldif/ldif.js';
import { type ChangeRecord, writeLdif } from '../../src/ldap/ldif/ldif-record.js';
import { memberAttributesOf } from '../../src/config/model/mapping.js';
import { mapGroup, mapPerson } from '../../src/mirror/map/map.js';
import {
  buildGroupDeletion,
  buildNewGroup,
  changeNames,
  type MirroredGroup,
  NOT_NAMED,
} from '../../src/previews/group-records.js';
import { changeFields } from '../../src/previews/records.js';
import { validateNewGroup } from '../../src/previews/values.js';
import { NO_SAMPLE } from '../support/builders/built-in-config.js';
import { rawAttributes } from '../support/builders/model-entry.js';
import { named } from '../support/builders/named-subject.js';
import { TestDirectory389 } from '../support/servers/directory-389.js';
import type { DirectoryProcess } from '../support/servers/directory-process.js';
import { AD_SUFFIX, TestSamba } from '../support/servers/samba.js';
import { SUFFIX } from '../support/servers/slapd.mjs';

/** Result codes (RFC 4511 §4.1.9). */
const UNAVAILABLE_EXTENSION = 12;
const VALUE_EXISTS = 20;
const CLASS_VIOLATION = 65;
const ENTRY_EXISTS = 68;

const add = (dn: string, ...lines: string[]) => `dn: ${dn}\nchangetype: add\n${lines.join('\n')}\n`;

/** Applies previewed records to a server of a kind, and reads its entries as the mirror does. */
class Records {
  private readonly mapping;

  constructor(
    private readonly server: DirectoryProcess,
    kind: PresetName,
    suffix: string,
  ) {
    const config = readConfig({ ...NO_SAMPLE, DIRECTORY_BASE_DN: suffix });
    this.mapping = configFor(config, kind).directory.mapping;
  }

  /** The exit code of ldapmodify: the result code of the directory. */
  async apply(...records: ChangeRecord[]): Promise<number> {
    return (await this.server.modify(writeLdif(records))).code;
  }

  async read(base: string): Promise<Entry> {
    const ldif = await this.server.search({ base, scope: 'base' });
    for await (const entry of readLdif([Buffer.from(ldif)])) return entry;
    throw new Error(`there is no entry ${base}`);
  }

  async changePerson(dn: string, change: Record<string, string | null>): Promise<ChangeRecord> {
    const entry = await this.read(dn);
    const { value } = mapPerson(entry, this.mapping.users);
    if (value === null) throw new Error(`${dn} is no user`);
    const { uuid } = value;
    const person = { kind: 'person', uuid, dn: entry.dn, attributes: rawAttributes(entry) } as const;
    return changeFields(person, change, this.mapping).record;
  }

  async readGroup(dn: string) {
    const entry = await this.read(dn);
    const { value } = mapGroup(entry, this.mapping.groups);
    if (value === null) throw new Error(`${dn} is no group`);
    const attributes = rawAttributes(entry, memberAttributesOf(this.mapping.groups));
    const { uuid, id, references } = value;
    const counts = { memberValues: references.size, ownerValues: 0, membersVisibleTo: 0 };
    const group: MirroredGroup = { kind: 'group', key: 1, dn: entry.dn, uuid, id, attributes, ...counts };
    return { values: value, group };
  }

  async changeGroup(dn: string, change: Record<string, string | null>): Promise<ChangeRecord> {
    return changeFields((await this.readGroup(dn)).group, change, this.mapping).record;
  }

  newGroup(id: string): ChangeRecord {
    const group = validateNewGroup({ id, name: id, description: 'New' }, this.mapping.groups.fields);
    return buildNewGroup(group, null, this.mapping).record;
  }

  async changeNames(dn: string, subject: string, before: number, after: number): Promise<ChangeRecord> {
    const { group } = await this.readGroup(dn);
    return changeNames(group, named(subject), before, after, this.mapping).record;
  }

  async deleteGroup(dn: string, outer: string): Promise<ChangeRecord[]> {
    const references = [{ group: (await this.readGroup(outer)).group, namedAs: 1 }];
    return buildGroupDeletion((await this.readGroup(dn)).group, references, this.mapping);
  }
}

/** A record that asserts that an attribute is absent, as it is. */
function asserting(dn: string): ChangeRecord {
  const absent = { kind: 'not', filter: { kind: 'present', attribute: 'givenName' } } as const;
  const changes = [{ operation: 'add', attribute: 'givenName', values: ['Ann'] }] as const;
  return { dn, changetype: 'modify', changes, assertion: absent };
}

describe('a record, applied by ldapmodify to 389 Directory Server,', () => {
  const PEOPLE = `ou=people,${SUFFIX}`;
  const GROUPS = `ou=groups,${SUFFIX}`;
  const ANN = `uid=ann,${PEOPLE}`;
  const NAMES = `cn=names,${GROUPS}`;
  const UNIQUE = `cn=unique,${GROUPS}`;
  let server: TestDirectory389;
  let records: Records;

  beforeAll(async () => {
    server = await TestDirectory389.start();
    const content = [
      ...[PEOPLE, GROUPS].map((dn) => add(dn, 'objectClass: organizationalUnit')),
      add(ANN, 'objectClass: inetOrgPerson', 'cn: Ann', 'sn: Ann'),
      add(NAMES, 'objectClass: groupOfNames'),
      add(UNIQUE, 'objectClass: groupOfUniqueNames'),
    ];
    expect((await server.modify(content.join('\n'))).stderr).toBe('');
    records = new Records(server, '389ds', SUFFIX);
  });

  afterAll(() => server.remove());

  it('adds the first value of an attribute, without an assertion', async () => {
    expect(await records.apply(asserting(ANN))).toBe(UNAVAILABLE_EXTENSION);
    const record = await records.changePerson(ANN, { givenName: 'Ann', email: 'ann@example.org' });
    expect(await records.apply(record)).toBe(0);
    expect(await records.apply(record)).toBe(VALUE_EXISTS);
  });

  it('creates an empty group, which has no attributes besides those of its class', async () => {
    const record = records.newGroup('go');
    expect(await records.apply(record)).toBe(0);
    expect(await records.readGroup(record.dn)).toMatchObject({
      values: { name: 'go' },
      group: { memberValues: 0 },
    });
    expect(await records.apply(await records.changeGroup(record.dn, { description: 'Go' }))).toBe(0);
    for (const attribute of ['displayName', 'mail', 'labeledURI']) {
      const changes = [{ operation: 'add', attribute, values: ['x'] }] as const;
      expect(await records.apply({ dn: record.dn, changetype: 'modify', changes })).toBe(CLASS_VIOLATION);
    }
  });

  it.each([
    [NAMES, 'member'],
    [UNIQUE, 'uniqueMember'],
  ])('adds the first member to %s, and removes the last one', async (dn, attribute) => {
    expect(await records.apply(await records.changeNames(dn, ANN, NOT_NAMED, 1))).toBe(0);
    expect((await records.read(dn)).text(attribute)).toEqual([ANN]);
    expect(await records.apply(await records.changeNames(dn, ANN, 1, NOT_NAMED))).toBe(0);
    expect((await records.readGroup(dn)).group.memberValues).toBe(0);
  });

  it('adds a new group to its parent, and removes it before it is deleted', async () => {
    const inner = records.newGroup('inner');
    expect(await records.apply(inner, await records.changeNames(UNIQUE, inner.dn, NOT_NAMED, 1))).toBe(0);
    expect(await records.apply(...(await records.deleteGroup(inner.dn, UNIQUE)))).toBe(0);
    expect((await records.readGroup(UNIQUE)).group.memberValues).toBe(0);
  });
});

describe('a record, applied by ldapmodify to Samba,', () => {
  const ANN = `CN=Ann,CN=Users,${AD_SUFFIX}`;
  let samba: TestSamba;
  let records: Records;

  beforeAll(async () => {
    samba = await TestSamba.start();
    expect((await samba.modify(add(ANN, 'objectClass: user', 'sAMAccountName: ann'))).stderr).toBe('');
    records = new Records(samba, 'samba', AD_SUFFIX);
  });

  afterAll(() => samba.remove());

  it('adds the first value of an attribute, without an assertion', async () => {
    expect(await records.apply(asserting(ANN))).toBe(UNAVAILABLE_EXTENSION);
    const record = await records.changePerson(ANN, { givenName: 'Ann', email: 'ann@example.org' });
    expect(await records.apply(record)).toBe(0);
    expect(await records.apply(record)).toBe(VALUE_EXISTS);
  });

  it('rejects a new group with the id of a user', async () => {
    expect(await records.apply(records.newGroup('go'))).toBe(0);
    expect(await records.apply(records.newGroup('ANN'))).toBe(ENTRY_EXISTS);
  });
});
