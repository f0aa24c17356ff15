import type { FieldAudience } from '../../common/field.js';
import { VIEWER } from '../statements/statement.js';

/** The value of VIEWER for principals that see everything. No folded id has a capital letter. */
export const SEES_EVERYTHING = 'EVERYTHING';

/** Ranks of roles (src/groups/group-role.ts). */
const ADMIN = 2;
const OWNER = 3;

const VIEWER_KEY = `(select viewer.key from users viewer where viewer.id_folded = ${VIEWER})`;

/** SQL condition: the viewer sees what an audience sees of the users `u`, or of the groups `g`. */
export function isVisible(audience: FieldAudience, alias: string): string {
  const condition = alias === 'g' ? ofGroup(audience) : ofUser(audience, alias);
  return `(${VIEWER} = '${SEES_EVERYTHING}' or ${condition})`;
}

/** The person, and for `groupAdmins` those who are at least ADMIN in one of the groups of the person. */
function ofUser(audience: FieldAudience, alias: string): string {
  const isSelf = `${alias}.key = ${VIEWER_KEY}`;
  if (audience === 'self') return isSelf;
  return `${isSelf} or exists (
    select from effective_memberships theirs
      join effective_memberships mine on mine.group_key = theirs.group_key
    where theirs.user_key = ${alias}.key and mine.user_key = ${VIEWER_KEY} and mine.role >= ${ADMIN})`;
}

/** For `groupAdmins` those who are at least ADMIN in the group, for `self` its owners. */
function ofGroup(audience: FieldAudience): string {
  return `exists (
    select from effective_memberships mine
    where mine.group_key = g.key and mine.user_key = ${VIEWER_KEY}
      and mine.role >= ${audience === 'self' ? OWNER : ADMIN})`;
}
