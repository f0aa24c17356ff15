import { registerEnumType } from '@nestjs/graphql';

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

registerEnumType(ChangeKind, {
  name: 'ChangeKind',
  description: 'What can change. Memberships are those over every way in: by name, or through other groups.',
  valuesMap: {
    USER_CREATED: { description: 'Somebody came into the directory.' },
    USER_UPDATED: {
      description: "The directory's entry of a person is another one: a name, an address, a picture.",
    },
    USER_DELETED: { description: 'Somebody is gone from the directory, and from every group.' },
    GROUP_CREATED: { description: 'A group came into the directory.' },
    GROUP_UPDATED: { description: "The directory's entry of a group is another one, besides who is in it." },
    GROUP_DELETED: { description: 'A group is gone from the directory.' },
    MEMBER_ADDED: { description: 'Somebody belongs to a group who did not: `roleAfter` says as what.' },
    MEMBER_REMOVED: {
      description: 'Somebody no longer belongs to a group: `roleBefore` says as what they did.',
    },
    ROLE_CHANGED: { description: 'Somebody belongs to a group as something else than before.' },
  },
});

const BY_NUMBER = Object.values(ChangeKind);

/** How kinds are stored: from 1, in the order above. */
export function numberOfKind(kind: ChangeKind): number {
  return BY_NUMBER.indexOf(kind) + 1;
}

/** The kind that is stored as this number. */
export function kindOf(number: number): ChangeKind {
  return BY_NUMBER[number - 1] ?? ChangeKind.USER_UPDATED;
}
