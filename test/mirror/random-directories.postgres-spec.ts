import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { changesNothing } from '../../src/mirror/revision/write-revision.js';
import {
  buildLdif,
  groupDn,
  personDn,
  type TestGroup,
  type TestPerson,
} from '../support/builders/directory.js';
import { readInconsistencies } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { directories } from '../support/builders/random-directory.js';
import { type HeldRole, heldRoles } from '../support/builders/role-model.js';
import { ClientReplica, followChanges } from '../support/clients/changes.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';
import { repetitions } from '../support/repetitions.js';

const STEPS = repetitions({ usually: 6, long: 100 });
const SIZE = { people: 14, groups: 8 };
/** More entries than ids at any time: ids move between entries. */
const ENTRIES = 20;

interface RandomStep {
  readonly people: TestPerson[];
  readonly groups: TestGroup[];
  /** Records of users that have the id or the entryUUID of the first user. */
  readonly copies: string[];
}

/** Directories whose entries exchange ids, lack entries that groups name, and have some ids twice. */
const STEP: fc.Arbitrary<RandomStep> = fc
  .record({
    directory: directories(SIZE),
    people: fc.shuffledSubarray([...Array(ENTRIES).keys()], {
      minLength: SIZE.people,
      maxLength: SIZE.people,
    }),
    groups: fc.shuffledSubarray([...Array(ENTRIES).keys()], {
      minLength: SIZE.groups,
      maxLength: SIZE.groups,
    }),
    isSame: fc.boolean(),
    gone: fc.integer({ min: 0, max: 4 }),
    twice: fc.integer({ min: 0, max: 6 }),
  })
  .map(({ directory, people, groups, isSame, gone, twice }) => {
    const place = (order: number[], index: number) => (isSame ? index : (order[index] ?? index));
    const all = directory.people.map((person, index) => ({ ...person, uuid: uuid(1, place(people, index)) }));
    const kept = all.slice(gone);
    return {
      people: kept,
      groups: directory.groups
        .map((group, index) => ({ ...group, uuid: uuid(2, place(groups, index)) }))
        .slice(gone / 2),
      copies: [copyOf(kept[0], 'id'), copyOf(kept[0], 'uuid')].slice(twice, twice + 1),
    };
  });

function copyOf(person: TestPerson | undefined, same: 'id' | 'uuid'): string {
  const { id = '', uuid: ofPerson = '' } = person ?? {};
  return [
    `dn: cn=copy-of-${same},ou=people,dc=example,dc=org`,
    'objectClass: inetOrgPerson',
    `uid: ${same === 'id' ? id.toUpperCase() : 'copy'}`,
    'cn: Copy',
    'sn: Copy',
    `entryUUID: ${same === 'uuid' ? ofPerson : uuid(1, 30)}`,
    '',
  ].join('\n');
}

function uuid(kind: number, number: number): string {
  return `00000000-0000-4000-800${kind}-${String(number).padStart(12, '0')}`;
}

const REFERENCES = `
users:
  fields:
    assistant: {attribute: assistant, type: User, description: The assistant.}
groups:
  fields:
    related: {attribute: seeAlso, type: Group, description: The related group.}
`;

const NAMED = `
groups:
  members: {attribute: member, by: id}
  admins: {attribute: groupAdmin, by: uuid}
`;

/** Names users by id, and admins by entryUUID. Groups stay DNs, which are no ids of users. */
function nameOtherwise(ldif: string, { people }: RandomStep): string {
  return ldif.replace(/^(member|groupAdmin):: (.*)$/gm, (line, attribute: string, value: string) => {
    const dn = Buffer.from(value, 'base64').toString();
    const person = people.find(({ id }) => personDn(id) === dn);
    if (person === undefined) return line;
    const name = attribute === 'member' ? person.id : person.uuid;
    return `${attribute}: ${name ?? ''}`;
  });
}

function refer(ldif: string, { people, groups }: RandomStep): string {
  let number = 0;
  return ldif.replace(/^(sn|displayName):: /gm, (line, attribute: string) => {
    number++;
    const user = people[(number * 7) % people.length];
    const group = groups[(number * 5) % Math.max(1, groups.length)];
    const reference =
      attribute === 'sn' ? `assistant: ${personDn(user?.id ?? '')}` : `seeAlso: ${groupDn(group?.id ?? '')}`;
    return `${reference}\n${line}`;
  });
}

/**
 * The role of each user in each group, computed independently. Entries with the same id or entryUUID are left out, and so is what
 * groups name that is not there.
 */
function rolesAfter({ people, groups, copies }: RandomStep, namesGroups: boolean) {
  const there = new Set([
    ...people.slice(copies.length).map(({ id }) => id),
    ...groups.map(({ id }) => `@${id}`),
  ]);
  const kept = (names: string[] = []) => names.filter((name) => there.has(name));
  const users = (names?: string[]) => kept(names).filter((name) => namesGroups || !name.startsWith('@'));
  const roles = heldRoles(
    groups.map(({ id, members, admins, owners }) => ({
      id,
      members: users(members),
      admins: users(admins),
      owners: kept(owners),
    })),
  );
  const named = (held: ReadonlyMap<string, HeldRole>) =>
    new Map([...held].map(([id, { value }]): [string, string] => [id, value]));
  return new Map([...roles].map(([group, held]) => [group, named(held)]));
}

describe.each([
  { what: 'members by DN', model: null, write: (ldif: string) => ldif, seed: 21 },
  { what: 'members by id and entryUUID', model: NAMED, write: nameOtherwise, seed: 22 },
  { what: 'fields that are references', model: REFERENCES, write: refer, seed: 23 },
])('a run over random directories with $what', ({ model, write, seed }) => {
  const service = TestService.forSuite(() => ({
    environment: { DIRECTORY_GUARD_PERCENT: '100', ...(model === null ? {} : modelSetting(model)) },
  }));

  it('writes what a dry run lists, after which nothing differs', async () => {
    await stopFollowing(service);
    const authorization = await service.serviceAccount('directory');
    const replica = new ClientReplica();
    const dataSource = service.app.get(DataSource);
    let cursor: string | null = null;
    let kept: TestGroup[] = [];
    for (const [index, drawn] of fc.sample(STEP, { numRuns: STEPS, seed }).entries()) {
      // In every second step only users change, and groups name others with the same values.
      const step = index % 2 === 0 ? drawn : { ...drawn, groups: kept };
      kept = step.groups;
      service.replaceDirectory(write([buildLdif(step.people, step.groups), ...step.copies].join('\n'), step));
      const planned = await plan(service);
      const { counts, hash, changes } = planned;
      expect(changes.memberships.filter(({ before, after }) => before === after)).toEqual([]);
      // It is applied only if its hash is the same.
      const applied = await service.synchronize({ confirm: hash });
      if (applied.kind !== 'unchanged') expect(applied).toMatchObject({ kind: 'applied', counts });
      const after = await plan(service);
      expect(changesNothing(after.counts)).toBe(true);
      expect(after.changes).toEqual({
        entries: [],
        memberships: [],
        quarantined: changes.quarantined,
        dangling: changes.dangling,
      });
      expect(await readInconsistencies(dataSource)).toEqual([]);
      const found = await followChanges(service, authorization, cursor);
      cursor = found.cursor;
      replica.apply(found.changes);
      expect(replica.groups).toEqual(rolesAfter(step, model !== NAMED));
    }
    const users = await dataSource.query<{ id: string }[]>('select id from users');
    expect([...replica.people].sort()).toEqual(users.map(({ id }) => id).sort());
  });
});

async function plan(service: TestService) {
  const planned = await service.synchronize({ dryRun: true });
  if (planned.kind !== 'planned') throw new Error(`The run is ${planned.kind}`);
  return planned;
}
