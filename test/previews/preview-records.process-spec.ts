import { builtInConfig } from '../support/builders/built-in-config.js';
import { escapeDnValue } from '../../src/ldap/naming/dn.js';
import { keyOfDn } from '../../src/ldap/naming/identifiers.js';
import type { Entry } from '../../src/ldap/entry.js';
import { readLdif } from '../../src/ldap/ldif/ldif.js';
import { type ChangeRecord, writeLdif } from '../../src/ldap/ldif/ldif-record.js';
import { memberAttributesOf } from '../../src/config/model/mapping.js';
import { mapGroup, mapPerson } from '../../src/mirror/map/map.js';
import type { MappedGroup, MappedPerson } from '../../src/mirror/map/map.js';
import {
  buildGroupDeletion,
  buildNewGroup,
  changeNames,
  type MirroredGroup,
  type NamedEntry,
  NOT_NAMED,
} from '../../src/previews/group-records.js';
import { changeFields } from '../../src/previews/records.js';
import { type FieldChanges, validateNewGroup } from '../../src/previews/values.js';
import { rawAttributes } from '../support/builders/model-entry.js';
import { named } from '../support/builders/named-subject.js';
import { NAUGHTY_STRINGS } from '../support/builders/naughty-strings.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

const mapping = builtInConfig().directory.mapping;
const { users: people, groups } = mapping;
/** Result codes (RFC 4511 §4.1.9, RFC 4528). */
const NO_SUCH_ATTRIBUTE = 16;
const VALUE_EXISTS = 20;
const INVALID_SYNTAX = 21;
const CLASS_VIOLATION = 65;
const ASSERTION_FAILED = 122;

const ADA = dnOf('ada');
/** All characters that are escaped in a DN, or that need base64. */
const ODD = dnOf(' Zoë, "née" <Ø>;+\\#= ');

let slapd: TestSlapd;

beforeAll(async () => {
  slapd = await startSlapd();
  for (const dn of [ADA, ODD]) {
    const added = await apply({
      dn,
      changetype: 'add',
      attributes: [
        { attribute: 'objectClass', values: ['inetOrgPerson'] },
        { attribute: 'cn', values: ['Ada Martin'] },
        { attribute: 'sn', values: ['Martin'] },
      ],
    });
    expect(added).toBe(0);
  }
});

afterAll(() => slapd.remove());

function dnOf(id: string): string {
  return `uid=${escapeDnValue(id)},${people.bases[0] ?? ''}`;
}

/** The exit code of ldapmodify: the result code of the directory. */
async function apply(...records: ChangeRecord[]): Promise<number> {
  return (await slapd.modify(writeLdif(records))).code;
}

async function read(base: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const ldif = await slapd.search({ base, attributes: ['*', 'entryUUID'] });
  for await (const entry of readLdif([Buffer.from(ldif)])) entries.push(entry);
  return entries;
}

interface ReadEntry<Values> {
  readonly entry: Entry;
  readonly values: Values;
}

async function readPerson(dn: string): Promise<ReadEntry<MappedPerson>> {
  const [entry] = await read(dn);
  const values = entry === undefined ? null : mapPerson(entry, people).value;
  if (entry === undefined || values === null) throw new Error(`there is no entry ${dn}`);
  return { entry, values };
}

function change({ entry, values }: ReadEntry<MappedPerson>, wanted: FieldChanges) {
  const { uuid } = values;
  const person = { kind: 'person', uuid, dn: entry.dn, attributes: rawAttributes(entry) } as const;
  return changeFields(person, wanted, mapping);
}

async function readGroup(dn: string): Promise<ReadEntry<MappedGroup> & { group: MirroredGroup }> {
  const [entry] = await read(dn);
  const values = entry === undefined ? null : mapGroup(entry, groups).value;
  if (entry === undefined || values === null) throw new Error(`there is no group ${dn}`);
  const { uuid, id } = values;
  const attributes = rawAttributes(entry, memberAttributesOf(groups));
  const counts = { memberValues: entry.bytes('member').length, ownerValues: 0, membersVisibleTo: 0 };
  return { entry, values, group: { kind: 'group', key: 1, dn, uuid, id, attributes, ...counts } };
}

async function createGroup(id: string, creator: string | null): Promise<string> {
  const { record } = build(id, creator === null ? null : named(creator));
  expect(await apply(record)).toBe(0);
  return record.dn;
}

function build(id: string, creator: NamedEntry | null) {
  return buildNewGroup(validateNewGroup({ id, name: id }, groups.fields), creator, mapping);
}

describe('a record, applied by ldapmodify', () => {
  it('creates groups of all accepted strings, in one text', async () => {
    const wanted = NAUGHTY_STRINGS.flatMap((text, index) => {
      try {
        return [validateNewGroup({ id: `naughty-${index}`, name: text, description: text }, groups.fields)];
      } catch {
        return []; // Empty, or with control characters.
      }
    });
    expect(wanted.length).toBeGreaterThan(NAUGHTY_STRINGS.length * 0.9);
    const texts = wanted.map((group) => writeLdif([buildNewGroup(group, named(ADA), mapping).record]));
    expect(await slapd.modify(texts.join(''))).toMatchObject({ code: 0 });

    const shown = (await read(groups.bases[0] ?? '')).map((entry) => mapGroup(entry, groups).value);
    const byId = new Map(shown.map((group) => [group?.id, group]));
    for (const group of wanted) expect(byId.get(group.id)).toMatchObject(group);
  });

  it('is rejected if the old value has changed, or a value was added', async () => {
    const before = await readPerson(ADA);
    const early = change(before, { familyName: 'Byron', email: 'early@example.org' });
    const late = change(before, { familyName: 'King' });
    const lateAddition = change(before, { email: 'late@example.org' });
    expect(await apply(early.record)).toBe(0);
    expect(await apply(late.record)).toBe(NO_SUCH_ATTRIBUTE);
    expect(await apply(lateAddition.record)).toBe(ASSERTION_FAILED);
    const { values } = await readPerson(ADA);
    expect(values).toMatchObject({ familyName: 'Byron', email: 'early@example.org' });
  });

  it('adds, promotes, demotes and removes a member, and is rejected a second time', async () => {
    const dn = await createGroup('roles', ADA);
    const steps = [
      [NOT_NAMED, 1],
      [1, 3],
      [3, 7],
      [7, 2],
      [2, 4],
      [4, NOT_NAMED],
    ] as const;
    for (const [before, after] of steps) {
      const { record } = changeNames((await readGroup(dn)).group, named(ODD), before, after, mapping);
      expect(await apply(record)).toBe(0);
      expect((await readGroup(dn)).values.references.get(keyOfDn(ODD)) ?? NOT_NAMED).toBe(after);
      expect([NO_SUCH_ATTRIBUTE, VALUE_EXISTS]).toContain(await apply(record));
    }
  });

  it('adds a new group to its parent, and removes it before it is deleted', async () => {
    const parent = await createGroup('parent', ADA);
    const child = build('child', null).record;
    const { dn } = child;
    const { record } = changeNames((await readGroup(parent)).group, named(dn), NOT_NAMED, 1, mapping);
    expect(await apply(child, record)).toBe(0);
    const outer = await readGroup(parent);
    expect(outer.values.references.get(keyOfDn(dn))).toBe(1);

    const deletion = buildGroupDeletion(
      (await readGroup(dn)).group,
      [{ group: outer.group, namedAs: 1 }],
      mapping,
    );
    expect(await apply(...deletion)).toBe(0);
    await expect(read(dn)).rejects.toThrow('No such object');
    expect((await readGroup(parent)).group.memberValues).toBe(1);
  });
});

describe('the directory', () => {
  it('rejects changes for which there is no record', async () => {
    const dn = await createGroup('refusals', ADA);
    const modify = (attribute: string, operation: 'add' | 'delete', value: string) =>
      apply({ dn, changetype: 'modify', changes: [{ operation, attribute, values: [value] }] });
    expect(await modify('member', 'delete', ADA)).toBe(CLASS_VIOLATION);
    expect(await modify('mail', 'add', 'é@example.org')).toBe(INVALID_SYNTAX);
    for (const attribute of ['displayName', 'description', 'labeledURI']) {
      expect(await modify(attribute, 'add', '')).toBe(INVALID_SYNTAX);
    }
  });
});
