import type { TestService } from './service.js';

/** A change as the endpoint tells it. */
export interface ListedChange {
  kind: string;
  at: string;
  userId: string | null;
  groupId: string | null;
  previousId: string | null;
  roleBefore: string | null;
  roleAfter: string | null;
}

export interface ChangesPage {
  totalCount: number;
  nodes: (ListedChange & { id: string; user: { id: string } | null; group: { id: string } | null })[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

const CHANGE = 'id kind at userId groupId previousId roleBefore roleAfter user { id } group { id }';
const PAGE = `totalCount nodes { ${CHANGE} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`;

/** One page of the log, which has to be answered. */
export async function readChanges(
  service: TestService,
  authorization: string,
  args = 'first: 100',
): Promise<ChangesPage> {
  const { data, errors } = await service.query<{ changes: ChangesPage }>(`{ changes(${args}) { ${PAGE} } }`, {
    authorization,
  });
  if (data?.changes === undefined) throw new Error(JSON.stringify(errors));
  return data.changes;
}

/** Everything that comes after a cursor, as a client follows it; null: from the beginning. */
export async function followChanges(
  service: TestService,
  authorization: string,
  after: string | null,
  size = 100,
): Promise<{ changes: ChangesPage['nodes']; cursor: string | null }> {
  const changes: ChangesPage['nodes'] = [];
  for (let cursor = after; ;) {
    const from = cursor === null ? '' : `, after: "${cursor}"`;
    const { nodes, pageInfo } = await readChanges(service, authorization, `first: ${size}${from}`);
    changes.push(...nodes);
    cursor = pageInfo.endCursor ?? cursor;
    if (!pageInfo.hasNextPage) return { changes, cursor };
  }
}

/** A change in one line: what it is and whom it is about. */
export function summarise({
  kind,
  userId,
  groupId,
  previousId,
  roleBefore,
  roleAfter,
}: ListedChange): string {
  const subject = [userId, groupId].filter((id) => id !== null).join(' in ');
  const roles =
    roleBefore === null && roleAfter === null ? '' : `: ${roleBefore ?? '-'} to ${roleAfter ?? '-'}`;
  return `${kind} ${subject}${previousId === null ? '' : `, was ${previousId}`}${roles}`;
}

/** A copy of the directory that is kept by changes alone. */
export class Replica {
  people = new Set<string>();
  /** Roles by the group's id and the person's. */
  groups = new Map<string, Map<string, string>>();

  apply(changes: readonly ListedChange[]): void {
    // Of one instant together: there two may have swapped their ids.
    for (let start = 0; start < changes.length;) {
      let end = start + 1;
      while (changes[end]?.at === changes[start]?.at) end++;
      const together = changes.slice(start, end);
      this.rename(together.filter(({ previousId }) => previousId !== null));
      for (const change of together) this.applyOne(change);
      start = end;
    }
  }

  private rename(renamed: readonly ListedChange[]): void {
    const of = (kind: 'userId' | 'groupId') =>
      new Map(
        renamed.flatMap((change) => (change[kind] === null ? [] : [[change.previousId, change[kind]]])),
      );
    const [people, groups] = [of('userId'), of('groupId')];
    const person = (id: string) => people.get(id) ?? id;
    this.people = new Set([...this.people].map(person));
    this.groups = new Map(
      [...this.groups].map(([id, roles]) => [
        groups.get(id) ?? id,
        new Map([...roles].map(([user, role]) => [person(user), role])),
      ]),
    );
  }

  private applyOne({ kind, userId, groupId, roleBefore, roleAfter }: ListedChange): void {
    const [user, group] = [userId ?? '', groupId ?? ''];
    const roles = this.groups.get(group);
    switch (kind) {
      case 'USER_CREATED':
        expect(this.people.has(user)).toBe(false);
        this.people.add(user);
        break;
      case 'USER_DELETED':
        expect(this.people.delete(user)).toBe(true);
        break;
      case 'GROUP_CREATED':
        expect(roles).toBeUndefined();
        this.groups.set(group, new Map());
        break;
      case 'GROUP_DELETED':
        // Whoever was in it has been removed before.
        expect(roles).toEqual(new Map());
        this.groups.delete(group);
        break;
      case 'MEMBER_ADDED':
      case 'ROLE_CHANGED':
        expect([this.people.has(user), roles?.get(user) ?? null]).toEqual([true, roleBefore]);
        roles?.set(user, roleAfter ?? '');
        break;
      case 'MEMBER_REMOVED':
        expect(roles?.get(user)).toBe(roleBefore);
        roles?.delete(user);
        break;
    }
  }
}
