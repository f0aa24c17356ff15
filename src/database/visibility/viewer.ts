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

/** A viewer as a preview began, because the preview may change roles, with what it adds: see withAdded. */
export interface FixedViewer extends Viewer {
  /** The key of the user. Null: none. */
  readonly key: number | null;
  /** The keys of groups by the role of the viewer in them, who is at least ADMIN in `adminOf`. */
  readonly memberOf: readonly number[];
  readonly adminOf: readonly number[];
  readonly ownerOf: readonly number[];
  /** The groups whose membership the viewer sees because it is the viewer's own. */
  readonly ownOf: readonly number[];
  /** The keys of users who belong to a group in which the viewer is at least ADMIN only in the preview. */
  readonly joined: readonly number[];
  /** Keys of DNs of new groups. What fields and users named before the preview is not the new group. */
  readonly forgotten: readonly string[];
}

/** The lists to which a preview adds. */
export type ViewerLists = Omit<FixedViewer, 'key' | 'id' | 'seesHidden' | 'ownerOf'>;

/** Adds to lists of a viewer. A viewer without a limit remains without one. */
export function withAdded(viewer: FixedViewer, added: Partial<ViewerLists>): FixedViewer {
  const lists = Object.entries(added).map(([name, list]) => {
    const present: readonly (number | string)[] | null = viewer[name as keyof ViewerLists];
    return [name, present && [...present, ...(list ?? [])]];
  });
  return { ...viewer, ...(Object.fromEntries(lists) as Partial<ViewerLists>) };
}

/** Whether neither rules nor a limit restrict the viewer, so that all such viewers with the same scopes get the same responses. */
export function seesEverything({ seesHidden, limitedTo }: Viewer): boolean {
  return seesHidden && limitedTo === null;
}

/** Whether statements for a viewer have relations in front of all tables. Otherwise only the audiences of fields apply. */
export function isRestricted({ limitedTo }: Viewer, hides: boolean): boolean {
  return hides || limitedTo !== null;
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

/** SQL for a FixedViewer with the folded id $1. */
export const FIX_VIEWER = `
  select key, coalesce(member_of, '{}') as "memberOf", coalesce(admin_of, '{}') as "adminOf", coalesce(owner_of, '{}') as "ownerOf",
    coalesce(member_of, '{}') as "ownOf", '{}'::integer[] as joined, '{}'::text[] as forgotten
  from (${selectRoles('$1::text')}) roles`;
