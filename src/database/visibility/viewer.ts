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
  readonly key: number | null;
  /** The keys of the groups of the viewer. */
  readonly memberOf: readonly number[];
  /** The keys of the groups in which the viewer is at least ADMIN. */
  readonly adminOf: readonly number[];
}

/** Whether everyone else who sees what rules hide gets the same responses with the same scopes. */
export function seesEverything({ seesHidden, limitedTo }: Viewer): boolean {
  return seesHidden && limitedTo === null;
}

/** Outside every audience. */
export const OUTSIDER: Viewer = { id: null, seesHidden: false, limitedTo: null };

/** SQL for the roles of the user with the folded id $1, as a preview begins. */
export const FIX_VIEWER = `
  select v.key,
    array(select m.group_key from effective_memberships m where m.user_key = v.key) as "memberOf",
    array(select m.group_key from effective_memberships m where m.user_key = v.key and m.role >= 2) as "adminOf"
  from (select (select u.key from users u where u.id_folded = $1::text) as key) v`;
