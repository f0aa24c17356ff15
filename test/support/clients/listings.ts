import { fold } from '../../../src/common/fold.js';
import type { TestGroup, TestPerson } from '../builders/directory.js';
import type { RandomDirectory } from '../builders/random-directory.js';
import { type HeldRole, heldRoles, namedBy, ROLES } from '../builders/role-model.js';

/** A connection with its arguments, and the expected ids in order. */
export interface Listing {
  /** The field around it, with «%» in place of the connection. */
  readonly parent: string;
  readonly field: string;
  readonly args: string;
  readonly node: string;
  readonly expected: readonly string[];
}

/** What only the database knows: the order of rows with equal names, and when they changed. */
export interface RowFacts {
  readonly users: ReadonlyMap<string, Facts>;
  readonly groups: ReadonlyMap<string, Facts>;
}

interface Facts {
  readonly key: number;
  readonly updatedAt: number;
  readonly createdAt: number;
}

type Place = (string | number)[];
type Direction = 'ASC' | 'DESC';
const DIRECTIONS: Direction[] = ['ASC', 'DESC'];

/** Every connection in every order and with every filter, computed from the whole directory. */
export class Listings {
  private readonly roles: Map<string, Map<string, HeldRole>>;

  constructor(
    private readonly directory: RandomDirectory,
    private readonly facts: RowFacts,
    private readonly chosen: { person: string; group: string },
  ) {
    this.roles = heldRoles(directory.groups);
  }

  all(): Listing[] {
    return [
      ...this.users(),
      ...this.groups(),
      ...this.members(),
      ...this.groupsOf(`user(user: {id: "${this.chosen.person}"}) { % }`),
      ...this.nested(),
      ...this.search(),
    ];
  }

  private users(): Listing[] {
    const { group } = this.chosen;
    const since =
      [...this.facts.users.values()].map(({ updatedAt }) => updatedAt).sort((a, b) => a - b)[150] ?? 0;
    const filters: [string, (person: TestPerson) => boolean][] = [
      ['', () => true],
      ['search: "AN"', (person) => matches(person, 'an')],
      ['search: "berg"', (person) => matches(person, 'berg')],
      ['schoolYear: "1A"', (person) => yearOf(person) === '1a'],
      ['schoolYear: ""', () => false],
      [`memberOf: {id: "${group}"}`, (person) => this.roleIn(group, person.id) !== undefined],
      [`memberOf: {id: "${group}"}, role: {is: ADMIN}`, (person) => this.rank(group, person.id) >= 1],
      [
        `updatedSince: "${new Date(since).toISOString()}"`,
        ({ id }) => (this.facts.users.get(id)?.updatedAt ?? 0) >= since,
      ],
    ];
    const orders: [string, (person: TestPerson) => Place][] = [
      ['NAME', (person) => this.userPlace(person)],
      ['SCHOOL_YEAR', (person) => [yearOf(person), ...this.userPlace(person)]],
      ['FAMILY_NAME', (person) => this.familyPlace(person)],
      ['CREATED_AT', ({ id }) => this.timePlace('users', 'createdAt', id)],
      ['UPDATED_AT', ({ id }) => this.timePlace('users', 'updatedAt', id)],
    ];
    return filters.flatMap(([filter, holds]) =>
      orders.flatMap(([field, placeOf]) =>
        DIRECTIONS.map((direction) => ({
          parent: '%',
          field: 'users',
          args: `filter: {${filter}}, orderBy: {field: ${field}, direction: ${direction}}`,
          node: 'id',
          expected: sorted(this.directory.people.filter(holds), placeOf, direction).map(({ id }) => id),
        })),
      ),
    );
  }

  private groups(): Listing[] {
    const { person, group } = this.chosen;
    const inner = namedBy(this.groupOf(group), 'groups');
    const contained = new Set(this.directory.groups.flatMap((each) => [...namedBy(each, 'groups').keys()]));
    const since =
      [...this.facts.groups.values()].map(({ updatedAt }) => updatedAt).sort((a, b) => a - b)[20] ?? 0;
    const filters: [string, (each: TestGroup) => boolean][] = [
      ['', () => true],
      ['isRoot: true', ({ id }) => !contained.has(id)],
      ['isRoot: false', ({ id }) => contained.has(id)],
      ['ids: ["g1", "G2", "g3", "g7", "unknown"]', ({ id }) => ['g1', 'g2', 'g3', 'g7'].includes(id)],
      ['emails: ["g1@EXAMPLE.org", "g4@example.org", "x"]', ({ id }) => ['g1', 'g4'].includes(id)],
      ['ids: ["g1", "g2"], emails: ["g2@example.org", "g3@example.org"]', ({ id }) => id === 'g2'],
      [
        `updatedSince: "${new Date(since).toISOString()}", isRoot: true`,
        ({ id }) => (this.facts.groups.get(id)?.updatedAt ?? 0) >= since && !contained.has(id),
      ],
      ['search: "anna"', (each) => matches(each, 'anna')],
      [`parent: {id: "${group}"}`, ({ id }) => inner.has(id)],
      [`hasMember: {id: "${person}"}`, ({ id }) => this.rank(id, person) >= 0],
      [
        `hasMember: {id: "${person}"}, role: {is: MEMBER, strict: true}`,
        ({ id }) => this.rank(id, person) === 0,
      ],
    ];
    const size = ({ id }: TestGroup) => this.roles.get(id)?.size ?? 0;
    const orders: [string, (each: TestGroup, sign: number) => Place, Direction | null][] = [
      ['NAME', (each) => this.groupPlace(each), null],
      // Among groups of equal size, names are always in ascending order.
      ['MEMBER_COUNT', (each, sign) => [sign * size(each), ...this.groupPlace(each)], 'ASC'],
      ['UPDATED_AT', ({ id }) => this.timePlace('groups', 'updatedAt', id), null],
    ];
    return filters.flatMap(([filter, holds]) =>
      orders.flatMap(([field, placeOf, names]) =>
        DIRECTIONS.map((direction) => ({
          parent: '%',
          field: 'groups',
          args: `filter: {${filter}}, orderBy: {field: ${field}, direction: ${direction}}`,
          node: 'id',
          expected: sorted(
            this.directory.groups.filter(holds),
            (each) => placeOf(each, direction === 'DESC' ? -1 : 1),
            names ?? direction,
          ).map(({ id }) => id),
        })),
      ),
    );
  }

  private members(): Listing[] {
    const { group } = this.chosen;
    const held = [...(this.roles.get(group) ?? [])].map(([id, role]) => ({
      role,
      subject: this.personOf(id),
    }));
    return this.memberships(`group(group: {id: "${group}"}) { % }`, 'members', 'user { id }', held, {
      placeOf: (person) => this.userPlace(person),
      familyPlaceOf: (person) => this.familyPlace(person),
      creationOf: ({ id }) => this.timePlace('users', 'createdAt', id),
      yearOf,
    });
  }

  private groupsOf(parent: string): Listing[] {
    const { person } = this.chosen;
    const held = this.directory.groups.flatMap((subject) => {
      const role = this.roleIn(subject.id, person);
      return role === undefined ? [] : [{ role, subject }];
    });
    return this.memberships(parent, 'groups', 'group { id }', held, {
      placeOf: (group) => this.groupPlace(group),
      // Groups have no family name.
      familyPlaceOf: (group) => this.groupPlace(group),
      creationOf: ({ id }) => this.timePlace('groups', 'createdAt', id),
    });
  }

  private memberships<Subject extends Searched>(
    parent: string,
    field: string,
    node: string,
    held: { role: HeldRole; subject: Subject }[],
    {
      placeOf,
      familyPlaceOf,
      creationOf,
      yearOf,
    }: Readonly<Record<'placeOf' | 'familyPlaceOf' | 'creationOf', (subject: Subject) => Place>> & {
      yearOf?: (subject: Subject) => string;
    },
  ): Listing[] {
    const rank = (role: HeldRole) => ROLES.indexOf(role.value);
    const filters: [string, (each: { role: HeldRole; subject: Subject }) => boolean][] = [
      ['', () => true],
      ['role: {is: ADMIN}', ({ role }) => rank(role) >= 1],
      ['role: {is: ADMIN, strict: true}', ({ role }) => rank(role) === 1],
      ['origin: DIRECT', ({ role }) => role.direct !== null],
      ['origin: NESTED', ({ role }) => role.direct === null],
      ['search: "An"', ({ subject }) => matches(subject, 'an')],
    ];
    if (yearOf !== undefined) filters.push(['schoolYear: "1A"', ({ subject }) => yearOf(subject) === '1a']);
    return filters.flatMap(([filter, holds]) =>
      DIRECTIONS.flatMap((direction) => {
        const sign = direction === 'DESC' ? -1 : 1;
        const kept = held.filter(holds);
        const by = (place: (subject: Subject) => Place) =>
          sorted(kept, ({ subject }) => place(subject), direction);
        const byRole = sorted(kept, ({ role, subject }) => [sign * rank(role), ...placeOf(subject)], 'ASC');
        return [
          { order: 'NAME', rows: by(placeOf) },
          { order: 'FAMILY_NAME', rows: by(familyPlaceOf) },
          { order: 'CREATED_AT', rows: by(creationOf) },
          { order: 'ROLE', rows: byRole },
        ].map(({ order, rows }) => ({
          parent,
          field,
          args: `filter: {${filter}}, orderBy: {field: ${order}, direction: ${direction}}`,
          node,
          expected: rows.map(({ subject }) => subject.id),
        }));
      }),
    );
  }

  private nested(): Listing[] {
    const { group } = this.chosen;
    const parent = `group(group: {id: "${group}"}) { % }`;
    const inner = namedBy(this.groupOf(group), 'groups');
    const byName = (groups: TestGroup[]) =>
      sorted(groups, (each) => this.groupPlace(each), 'ASC').map(({ id }) => id);
    const outer = this.directory.groups.filter((each) => namedBy(each, 'groups').has(group));
    const inside = this.directory.groups.filter(({ id }) => inner.has(id));
    return [
      { parent, field: 'parents', args: '', node: 'id', expected: byName(outer) },
      { parent, field: 'subgroups', args: '', node: 'id', expected: byName(inside) },
    ];
  }

  private search(): Listing[] {
    const distance = (each: Searched, name: string, query: string) => {
      if (each.id === query) return 0;
      if (name === query) return 1;
      if (name.startsWith(query)) return 2;
      return searchText(each).includes(` ${query}`) ? 3 : 5;
    };
    return ['p1', 'anna', 'berg', 'er', 'zz'].flatMap((query) => {
      const found = (kind: string, all: (TestPerson | TestGroup)[], place: (each: never) => Place) =>
        all
          .filter((each) => matches(each, query))
          .map((each) => {
            const [name = '', key = 0] = place(each as never);
            return {
              id: each.id,
              kind,
              place: [distance(each, String(name), query), name, kind === 'USER' ? 0 : 1, key],
            };
          });
      const people = found('USER', this.directory.people, (each: TestPerson) => this.userPlace(each));
      const groups = found('GROUP', this.directory.groups, (each: TestGroup) => this.groupPlace(each));
      return [
        { kinds: '', rows: [...people, ...groups] },
        { kinds: ', kinds: [USER]', rows: people },
        { kinds: ', kinds: [GROUP]', rows: groups },
        { kinds: ', kinds: []', rows: [] },
      ].map(({ kinds, rows }) => ({
        parent: '%',
        field: 'search',
        args: `query: "${query}"${kinds}`,
        node: '... on User { id } ... on Group { id }',
        expected: sorted(rows, ({ place }) => place, 'ASC').map(({ id }) => id),
      }));
    });
  }

  private roleIn(group: string, person: string): HeldRole | undefined {
    return this.roles.get(group)?.get(person);
  }

  private rank(group: string, person: string): number {
    const role = this.roleIn(group, person);
    return role === undefined ? -1 : ROLES.indexOf(role.value);
  }

  private userPlace({ id, name }: TestPerson): Place {
    return [sortName(name ?? id), this.facts.users.get(id)?.key ?? 0];
  }

  private familyPlace(person: TestPerson): Place {
    const name = person.familyName === null ? '' : (person.familyName ?? person.id);
    return [sortName(name), ...this.userPlace(person)];
  }

  private timePlace(kind: keyof RowFacts, time: 'createdAt' | 'updatedAt', id: string): Place {
    const facts = this.facts[kind].get(id);
    return [facts?.[time] ?? 0, facts?.key ?? 0];
  }

  private groupPlace({ id, name }: TestGroup): Place {
    return [sortName(name ?? id), this.facts.groups.get(id)?.key ?? 0];
  }

  private groupOf(id: string): TestGroup {
    return this.directory.groups.find((each) => each.id === id) ?? { id };
  }

  private personOf(id: string): TestPerson {
    return this.directory.people.find((each) => each.id === id) ?? { id };
  }
}

interface Searched {
  readonly id: string;
  readonly name?: string;
  readonly familyName?: string | null;
}

/** The years of the random directory need no other preparation (RFC 4518). */
function yearOf({ schoolYear = '' }: TestPerson): string {
  return schoolYear.toLowerCase();
}

function sortName(name: string): string {
  return [...fold(name).trim()].slice(0, 256).join('');
}

/** Quotation marks separate words. */
function searchText({ id, name, familyName }: Searched): string {
  return [id, name ?? id, familyName ?? '']
    .map((text) => ` ${fold(text).replaceAll('"', ' ').trim()}`)
    .join('');
}

function matches(each: Searched, folded: string): boolean {
  return searchText(each).includes(folded);
}

function sorted<Each>(all: readonly Each[], placeOf: (each: Each) => Place, direction: Direction): Each[] {
  const sign = direction === 'ASC' ? 1 : -1;
  return [...all].sort((left, right) => sign * comparePlaces(placeOf(left), placeOf(right)));
}

/** Compares texts byte by byte, like the database; the order of UTF-16 differs. */
function comparePlaces(left: Place, right: Place): number {
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? '';
    const difference =
      typeof value === 'number' && typeof other === 'number'
        ? value - other
        : Buffer.compare(Buffer.from(String(value)), Buffer.from(String(other)));
    if (difference !== 0) return difference;
  }
  return 0;
}
