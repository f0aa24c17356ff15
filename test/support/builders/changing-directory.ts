import { nodeIdOf } from '../../../src/common/identity.js';
import { type TestGroup, type TestPerson, buildLdif, personDn } from './directory.js';
import { addAttributes } from './custom-fields.js';

/** A generator of pseudorandom numbers (mulberry32), so that a seed repeats a test. */
export class Random {
  constructor(private state: number) {}

  /** An integer from 0 to `bound` - 1. */
  below(bound: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  of<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error('There are no values');
    return value;
  }
}

const PEOPLE = 60;
const GROUPS = 20;
const NAMES = ['Anna Berg', 'Ben Berg', 'Cleo Ott', 'anna berg', 'Zoë Strauß', 'Emil', 'Łukasz Żak'];
const PHOTO = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** Fields of its own, references, and rules of visibility if they are wanted. */
export function modelOf(hasRules: boolean): string {
  return `
scopes:
  confidential: Everything.
users:
  fields:
    phone: { attribute: telephoneNumber, type: String, description: The phone number., filterable: true, searchable: true }
    locker: { attribute: roomNumber, type: String, description: The locker., visibleTo: groupAdmins }
    manager: { attribute: manager, type: User, description: The manager., reverse: reports }
groups:
  fields:
    contact: { attribute: seeAlso, type: User, description: The contact., reverse: contactOf }
${
  hasRules
    ? `visibility:
  bypass: confidential
  users: [{ where: (sn=hidden), to: groupAdmins }]
  groups: [{ where: (description=secret), to: members }]
  members: [{ where: (description=private), to: members }]
`
    : ''
}`;
}

interface Person extends TestPerson {
  readonly uuid: string;
  attributes: Record<string, string>;
}

interface Group extends TestGroup {
  readonly uuid: string;
  /** The numbers of members, and of groups inside, by role. */
  numbers: Record<'members' | 'admins' | 'owners', Set<number>>;
  inside: Set<number>;
  contact: number | null;
}

/** A directory that changes at random: values, names, ids, photos, roles, nestings, references, audiences and existence. */
export class ChangingDirectory {
  private readonly people = new Map<number, Person>();
  private readonly groups = new Map<number, Group>();

  constructor(private readonly random: Random) {
    for (let number = 0; number < PEOPLE; number++) this.addPerson(number);
    for (let number = 0; number < GROUPS; number++) this.addGroup(number);
    // Present in every state, so that something is hidden and client and viewer exist.
    this.person(1).familyName = 'hidden';
  }

  get ldif(): string {
    const attributes = new Map<string, [string, string][]>();
    for (const { id, attributes: own } of this.people.values()) attributes.set(id, Object.entries(own));
    for (const { id, contact } of this.groups.values()) {
      const person = contact === null ? undefined : this.people.get(contact);
      if (person !== undefined) attributes.set(id, [['seeAlso', personDn(person.id)]]);
    }
    const groups = [...this.groups.values()].map(({ numbers, inside, contact: _contact, ...group }) => ({
      ...group,
      members: [...this.idsOf(numbers.members), ...this.groupIdsOf(inside)],
      admins: this.idsOf(numbers.admins),
      owners: this.idsOf(numbers.owners),
    }));
    return addAttributes(buildLdif([...this.people.values()], groups), Object.fromEntries(attributes));
  }

  change(): void {
    const { random } = this;
    const number = 2 + random.below(PEOPLE - 2);
    const group = random.below(GROUPS);
    const kinds: (() => unknown)[] = [
      () => (this.person(number).schoolYear = random.of(['1A', '2B', '3C'])),
      () => (this.person(number).attributes['telephoneNumber'] = String(random.below(50))),
      () => (this.person(number).attributes['roomNumber'] = String(random.below(50))),
      () => (this.person(number).attributes['manager'] = personDn(this.person(random.below(PEOPLE)).id)),
      () => (this.person(number).name = random.of(NAMES)),
      () => (this.person(number).email = `p${random.below(6)}@example.org`),
      () => (this.person(number).photo = random.of([PHOTO, Buffer.concat([PHOTO, Buffer.from('.')])])),
      () => (this.person(number).familyName = random.of(['hidden', 'x'])),
      () => (this.person(number).id = `${random.of(['p', 'q'])}${number}`),
      () => this.people.delete(number) || this.addPerson(number),
      () => (this.group(group).name = random.of(NAMES)),
      () => (this.group(group).description = random.of(['secret', 'private', 'open', 'open'])),
      () => (this.group(group).contact = number),
      () => group > 2 && (this.groups.delete(group) || this.addGroup(group)),
      ...Array<() => void>(5).fill(() => {
        this.toggle(
          this.group(group).numbers[random.of(['members', 'members', 'admins', 'owners'] as const)],
          number,
        );
      }),
      ...Array<() => void>(2).fill(() => {
        this.toggle(this.group(group).inside, random.below(GROUPS));
      }),
    ];
    random.of(kinds)();
  }

  private toggle(numbers: Set<number>, number: number): void {
    if (!numbers.delete(number)) numbers.add(number);
  }

  private person(number: number): Person {
    return this.people.get(number) ?? this.addPerson(number);
  }

  private group(number: number): Group {
    return this.groups.get(number) ?? this.addGroup(number);
  }

  private addPerson(number: number): Person {
    const id = `p${number}`;
    const uuid = `00000000-0000-4000-8000-0000000000${String(number).padStart(2, '0')}`;
    const person: Person = { id, uuid, name: `Person ${number}`, email: `${id}@example.org`, attributes: {} };
    this.people.set(number, person);
    return person;
  }

  private addGroup(number: number): Group {
    const uuid = `00000000-0000-4000-9000-0000000000${String(number).padStart(2, '0')}`;
    const members = new Set(Array.from({ length: 6 }, () => this.random.below(PEOPLE)));
    const numbers = { members, admins: new Set([0, number]), owners: new Set<number>() };
    const group: Group = {
      id: `g${number}`,
      name: `Group ${number}`,
      uuid,
      numbers,
      inside: new Set(),
      contact: null,
    };
    if (number % 4 > 0) group.inside.add(number - 1);
    this.groups.set(number, group);
    return group;
  }

  private idsOf(numbers: ReadonlySet<number>): string[] {
    return [...numbers].flatMap((number) => this.people.get(number)?.id ?? []);
  }

  private groupIdsOf(numbers: ReadonlySet<number>): string[] {
    return [...numbers].flatMap((number) => this.groups.get(number)?.id ?? []).map((id) => `@${id}`);
  }
}

/** Random operations of a small set, so that they repeat. */
export function operationOf(random: Random, cursors: readonly string[]): string {
  const user = `{id: "${random.of(['p', 'p', 'q'])}${random.below(10)}"}`;
  const group = `{id: "g${random.below(GROUPS)}"}`;
  const person = random.of([
    'id name',
    'id name schoolYear photo(size: 64) picture',
    'name email phone locker updatedAt',
  ]);
  const page = random.of([
    'first: 3',
    'first: 50',
    'last: 4',
    `first: 3, after: "${random.of([...cursors, ''])}"`,
  ]);
  const paging = page.endsWith('""') ? 'first: 2' : page;
  const info = random.of(['', 'totalCount', 'totalCount pageInfo { hasNextPage hasPreviousPage endCursor }']);
  const role = 'role { value direct inheritedFrom { id name } }';
  const memberFilter = random.of([
    '',
    ', filter: {role: {is: ADMIN}}',
    ', filter: {origin: NESTED}',
    ', filter: {search: "ann"}',
    ', filter: {schoolYear: "1A"}',
    ', orderBy: {field: ROLE, direction: DESC}',
  ]);
  return random.of([
    `{ user(user: ${user}) { ${person} } }`,
    `{ user(user: {email: "p${random.below(6)}@example.org"}) { id name } }`,
    `{ user(user: ${user}) { id groups(${paging}) { ${info} nodes { ${role} group { id name } } } } }`,
    `{ user(user: ${user}) { groups(first: 5${random.of(['', ', filter: {search: "ann"}'])}) { nodes { group { name updatedAt description } } } } }`,
    `{ user(user: ${user}) { manager { id name } reports(first: 5) { totalCount nodes { name } } } }`,
    `{ group(group: ${group}) { name members(${paging}${memberFilter}) { ${info} nodes { ${role} user { ${person} } } } } }`,
    `{ group(group: ${group}) { name members(first: 20) { ${info} nodes { user { name photo } } } } }`,
    `{ group(group: ${group}) { id members(first: 5) { totalCount nodes { role { value } } } subgroups(first: 5) { totalCount nodes { name } } parents(first: 5) { nodes { id } } } }`,
    `{ group(group: ${group}) { contact { id name } members(first: 3) { nodes { user { groups(first: 3) { nodes { group { name } } } } } } } }`,
    `{ users(${paging}) { ${info} nodes { ${person} } } }`,
    `{ users(first: 5${random.of([', filter: {search: "ann"}', `, filter: {memberOf: ${group}}`, ', filter: {schoolYear: "1A"}', ', orderBy: {field: UPDATED_AT, direction: DESC}'])}) { totalCount nodes { id name } } }`,
    `{ users(first: 3, filter: {emails: ["p1@example.org", "p2@example.org"]}) { totalCount nodes { id } } }`,
    `{ groups(${paging}${random.of(['', `, filter: {hasMember: ${user}}`, `, filter: {parent: ${group}}`, ', orderBy: {field: MEMBER_COUNT}'])}) { ${info} nodes { id name } } }`,
    `{ search(query: "${random.of(['ann', 'p1', 'group', '12'])}", first: 5) { totalCount nodes { ... on User { id name photo } ... on Group { id name } } } }`,
    `{ isMember(user: ${user}, group: ${group}${random.of(['', ', role: {is: ADMIN}'])}) }`,
    '{ profile { id name photo groups(first: 5) { totalCount nodes { role { value } group { id } } } } }',
    `{ changes(last: 5) { nodes { id kind userId groupId user { name } group { name } } } }`,
    `{ changes(first: 3, filter: {user: ${user}}) { totalCount nodes { id kind } } }`,
    '{ directoryStatus { blockedReason } }',
    `{ users(first: 0) { totalCount } groups(first: 0) { totalCount } a: user(user: ${user}) { name } }`,
    `{ nodes(nodeIds: ["${random.of(NODE_IDS)}", "${random.of(NODE_IDS)}"]) { nodeId ... on User { name } ... on Group { name } } }`,
  ]);
}

const NODE_IDS = [
  nodeIdOf('User', '00000000-0000-4000-8000-000000000003'),
  nodeIdOf('User', '00000000-0000-4000-8000-000000000004'),
  nodeIdOf('Group', '00000000-0000-4000-9000-000000000003'),
];
