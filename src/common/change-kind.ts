/** The kinds of changes in the order of the numbers by which they are stored, from 1. */
export const CHANGE_KINDS = [
  'USER_CREATED',
  'USER_UPDATED',
  'USER_DELETED',
  'GROUP_CREATED',
  'GROUP_UPDATED',
  'GROUP_DELETED',
  'MEMBER_ADDED',
  'MEMBER_REMOVED',
  'ROLE_CHANGED',
] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export const numberOfKind = (kind: ChangeKind): number => CHANGE_KINDS.indexOf(kind) + 1;

export function kindNumbered(number: number): ChangeKind {
  const kind = CHANGE_KINDS[number - 1];
  if (kind === undefined) throw new Error(`No kind of change has the number ${number}`);
  return kind;
}
