import type { TestService } from '../servers/service.js';

/** A change in the form of the API. */
export interface ListedChange {
  kind: string;
  at: string;
  userId: string | null;
  userNodeId: string | null;
  groupId: string | null;
  groupNodeId: string | null;
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

const CHANGE =
  'id kind at userId userNodeId groupId groupNodeId previousId roleBefore roleAfter user { id } group { id }';
const PAGE = `totalCount nodes { ${CHANGE} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`;

/** Reads one page of the log, which must succeed. */
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

/** Reads all changes after a cursor; null: from the beginning. */
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

/** A change in one line: its kind, group and user. */
export function summarizeChange({
  kind,
  userId,
  groupId,
  previousId,
  roleBefore,
  roleAfter,
}: Omit<ListedChange, 'userNodeId' | 'groupNodeId'>): string {
  const subject = [userId, groupId].filter((id) => id !== null).join(' in ');
  const roles =
    roleBefore === null && roleAfter === null ? '' : `: ${roleBefore ?? '-'} to ${roleAfter ?? '-'}`;
  return `${kind} ${subject}${previousId === null ? '' : `, was ${previousId}`}${roles}`;
}

/** A copy of the directory, kept by applying changes in order. */
export class ClientReplica {
  /** Ids of users by their node ids: ids can be exchanged between two changes. */
  private readonly ids = new Map<string, string>();
  private readonly roles = new Map<string, { id: string; members: Map<string, string> }>();

  /** The ids of the users. */
  get people(): Set<string> {
    return new Set(this.ids.values());
  }

  /** Roles by the ids of the group and the user. */
  get groups(): Map<string, Map<string, string>> {
    const named = (members: Map<string, string>) =>
      new Map(
        [...members].map(([person, role]) => [this.ids.get(person) ?? `unknown user: ${person}`, role]),
      );
    return new Map([...this.roles.values()].map(({ id, members }) => [id, named(members)]));
  }

  apply(changes: readonly ListedChange[]): void {
    for (const change of changes) this.applyOne(change);
  }

  private applyOne(change: ListedChange): void {
    const { kind, userId, groupId, previousId, roleBefore, roleAfter } = change;
    const [person, group] = [change.userNodeId ?? '', change.groupNodeId ?? ''];
    const members = this.roles.get(group)?.members;
    switch (kind) {
      case 'USER_CREATED':
        expect([this.ids.has(person), this.people.has(userId ?? '')]).toEqual([false, false]);
        this.ids.set(person, userId ?? '');
        break;
      case 'USER_UPDATED':
        if (previousId === null) break;
        expect(this.ids.get(person)).toBe(previousId);
        this.ids.set(person, userId ?? '');
        break;
      case 'USER_DELETED':
        expect(this.ids.get(person)).toBe(userId);
        this.ids.delete(person);
        break;
      case 'GROUP_CREATED':
        expect([members, this.groups.has(groupId ?? '')]).toEqual([undefined, false]);
        this.roles.set(group, { id: groupId ?? '', members: new Map() });
        break;
      case 'GROUP_UPDATED':
        if (previousId === null) break;
        expect(this.roles.get(group)?.id).toBe(previousId);
        this.roles.set(group, { id: groupId ?? '', members: members ?? new Map<string, string>() });
        break;
      case 'GROUP_DELETED':
        // A user's memberships are removed before the user is.
        expect(this.roles.get(group)).toEqual({ id: groupId, members: new Map() });
        this.roles.delete(group);
        break;
      case 'MEMBER_ADDED':
      case 'ROLE_CHANGED':
        expect([this.ids.get(person), members?.get(person) ?? null]).toEqual([userId, roleBefore]);
        members?.set(person, roleAfter ?? '');
        break;
      case 'MEMBER_REMOVED':
        expect([this.ids.get(person), members?.get(person)]).toEqual([userId, roleBefore]);
        members?.delete(person);
        break;
    }
  }
}
