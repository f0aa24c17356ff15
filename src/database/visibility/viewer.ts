import { ADMIN, OWNER } from './conditions.js';

/** For whom statements read the mirror. */
export interface Viewer {
  /** The folded id of the user for whom the token acts. Null: the token is outside every audience. */
  readonly id: string | null;
  /** Whether the token sees what rules hide. */
  readonly seesHidden: boolean;
  /** The entryUUIDs of the groups to which the principal is limited. Null: it is not limited. */
  readonly limitedTo: readonly string[] | null;
}

/** A viewer as a preview began, because the preview may change roles. */
export interface FixedViewer extends Viewer {
  /** The keys of groups by the role of the viewer in them, who is at least ADMIN in `adminOf`. Null: none. */
  readonly roles: {
    readonly key: number | null;
    readonly memberOf: readonly number[] | null;
    readonly adminOf: readonly number[] | null;
    readonly ownerOf: readonly number[] | null;
  };
  /** The groups whose membership the viewer sees because it is the viewer's own. */
  readonly ownOf: readonly number[];
  /** The keys of users who belong to a group in which the viewer is at least ADMIN only in the preview. */
  readonly joined: readonly number[];
  /** Keys of DNs of new groups. What fields and users named before the preview is not the new group. */
  readonly forgotten: readonly string[];
}

/** A user whom a preview adds to a group that the viewer administers does not become visible to the viewer. */
export function withJoined(viewer: FixedViewer, users: readonly number[]): FixedViewer {
  return { ...viewer, joined: [...viewer.joined, ...users] };
}

/** A viewer whom a preview adds to a group sees this membership, and no other one that follows from it. */
export function withNamed(viewer: FixedViewer, user: number, group: number): FixedViewer {
  return viewer.roles.key === user ? { ...viewer, ownOf: [...viewer.ownOf, group] } : viewer;
}

export function withForgotten(viewer: FixedViewer, dnKey: string): FixedViewer {
  return { ...viewer, forgotten: [...viewer.forgotten, dnKey] };
}

/** Viewers see a group that they create, and who belongs to it, even if a rule hides it or they are limited to other groups. */
export function withCreated(viewer: FixedViewer, { key, uuid }: { key: number; uuid: string }): FixedViewer {
  const { roles, limitedTo } = viewer;
  const withKey = (keys: readonly number[] | null) => [...(keys ?? []), key];
  return {
    ...viewer,
    limitedTo: limitedTo === null ? null : [...limitedTo, uuid],
    roles: { ...roles, memberOf: withKey(roles.memberOf), adminOf: withKey(roles.adminOf) },
    ownOf: withKey(viewer.ownOf),
  };
}

/** Whether neither rules nor a limit restrict the viewer, so that all such viewers with the same scopes get the same responses. */
export function seesEverything({ seesHidden, limitedTo }: Viewer): boolean {
  return seesHidden && limitedTo === null;
}

/** Outside every audience. */
export const OUTSIDER: Viewer = { id: null, seesHidden: false, limitedTo: null };

/** SQL for the roles of a user, in one row. @param id SQL for the folded id */
export function selectRoles(id: string): string {
  return `select u.key, r.member_of, r.admin_of, r.owner_of
    from (values (${id})) given (id) left join users u on u.id_folded = given.id
      cross join lateral (
        select array_agg(m.group_key) as member_of, array_agg(m.group_key) filter (where m.role >= ${ADMIN}) as admin_of,
          array_agg(m.group_key) filter (where m.role >= ${OWNER}) as owner_of
        from effective_memberships m where m.user_key = u.key) r`;
}

/** SQL for the roles of the user with the folded id $1, as a FixedViewer has them. */
export const READ_ROLES = `
  select key, member_of as "memberOf", admin_of as "adminOf", owner_of as "ownerOf"
  from (${selectRoles('$1::text')}) roles`;
