/** The kinds of changes; change.model.ts registers them as a type of the schema. */
export enum ChangeKind {
  USER_CREATED = 'USER_CREATED',
  USER_UPDATED = 'USER_UPDATED',
  USER_DELETED = 'USER_DELETED',
  GROUP_CREATED = 'GROUP_CREATED',
  GROUP_UPDATED = 'GROUP_UPDATED',
  GROUP_DELETED = 'GROUP_DELETED',
  MEMBER_ADDED = 'MEMBER_ADDED',
  MEMBER_REMOVED = 'MEMBER_REMOVED',
  ROLE_CHANGED = 'ROLE_CHANGED',
}

const BY_NUMBER = Object.values(ChangeKind);

/** The number under which a kind is stored: from 1, in the order above. */
export const numberOfKind = (kind: ChangeKind): number => BY_NUMBER.indexOf(kind) + 1;
export const kindNumbered = (number: number): ChangeKind => BY_NUMBER[number - 1] ?? ChangeKind.USER_UPDATED;
