import type { FieldAudience } from '../../common/field.js';
import { VIEWER } from '../statements/statement.js';
import type { ObjectKind } from './field-references.js';

/** The value of VIEWER for principals that see everything. No folded id has a capital letter. */
export const SEES_EVERYTHING = 'EVERYTHING';

/** Ranks of roles (src/groups/group.model.ts). */
const ADMIN = 2;
const OWNER = 3;

const VIEWER_KEY = `(select viewer.key from users viewer where viewer.id_folded = ${VIEWER})`;

/**
 * SQL condition: the viewer belongs to an audience of fields.
 * @param key SQL for the key of the user or group that has the field
 */
export function isVisible(audience: FieldAudience, kind: ObjectKind, key: string): string {
  const condition = kind === 'group' ? ofGroup(audience, key) : ofUser(audience, key);
  return `(${VIEWER} = '${SEES_EVERYTHING}' or ${condition})`;
}

/** The person, and for `groupAdmins` those who are at least ADMIN in one of the groups of the person. */
function ofUser(audience: FieldAudience, key: string): string {
  const isSelf = `${key} = ${VIEWER_KEY}`;
  if (audience === 'self') return isSelf;
  return `${isSelf} or exists (
    select from effective_memberships theirs
      join effective_memberships mine on mine.group_key = theirs.group_key
    where theirs.user_key = ${key} and mine.user_key = ${VIEWER_KEY} and mine.role >= ${ADMIN})`;
}

/** For `groupAdmins` those who are at least ADMIN in the group, for `self` its owners. */
function ofGroup(audience: FieldAudience, key: string): string {
  return `exists (
    select from effective_memberships mine
    where mine.group_key = ${key} and mine.user_key = ${VIEWER_KEY}
      and mine.role >= ${audience === 'self' ? OWNER : ADMIN})`;
}
