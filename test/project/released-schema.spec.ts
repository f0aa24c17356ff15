import { readFileSync } from 'node:fs';
import { buildSchema } from 'graphql';
import { findBreakingChanges } from '../../src/commands/schema.js';

const released = readFileSync('released/schema.graphql', 'utf8');
const [, releasedVersion = ''] = /^# (.+)\n/.exec(released) ?? [];

/** Breaks that the changelog explains under «Changed». */
const INTENDED_BREAKS: readonly string[] = [
  // A cache would take the objects below payloads for those of the directory.
  ...[
    ['AddGroupMemberPayload.membership', 'GroupMembership'],
    ['CreateGroupPayload.group', 'Group'],
    ['RemoveGroupMemberPayload.group', 'Group'],
    ['UpdateGroupMemberPayload.membership', 'GroupMembership'],
    ['UpdateGroupPayload.group', 'Group'],
    ['UpdateProfilePayload.profile', 'Profile'],
    ['UpdateUserPayload.user', 'User'],
  ].map(([field, type]) => `${field} changed type from ${type}! to ${type}Preview.`),
  // A payload with an expected failure in userErrors has no objects.
  'DeleteGroupPayload.deletedGroupId changed type from ID! to ID.',
  ...[
    ...['AddGroupMember', 'CreateGroup', 'DeleteGroup', 'RemoveGroupMember'],
    ...['UpdateGroupMember', 'UpdateGroup', 'UpdateProfile', 'UpdateUser'],
  ].map((name) => `${name}Payload.preview changed type from ChangePreview! to ChangePreview.`),
  // One invalid cursor must not empty the whole list.
  ...[
    ['Group.parents', 'GroupConnection'],
    ['Group.subgroups', 'GroupConnection'],
    ['Profile.groups', 'GroupMembershipConnection'],
    ['User.groups', 'GroupMembershipConnection'],
  ].map(([field, type]) => `${field} changed type from ${type}! to ${type}.`),
  // The school year of a user does not select groups.
  ...['Profile.groups', 'User.groups'].map(
    (field) => `${field} arg filter has changed type from UserMemberFilter to UserGroupFilter.`,
  ),
];

/** Returns the breaking changes, each with its remedy; empty if there are none. */
function explainBreaks(breaks: readonly string[], version: string): string {
  if (breaks.length === 0) return '';
  return [
    `This schema breaks clients of ${version} (released/schema.graphql):`,
    ...breaks.map((each) => `  ${each}`),
    'Leave what there is as it is, and add beside it what is to take its place. What is to go is deprecated first,',
    'for six months at least: CONTRIBUTING.md says how.',
  ].join('\n');
}

describe('the schema', () => {
  it('has no breaking change since the released one', () => {
    const current = buildSchema(readFileSync('schema.graphql', 'utf8'));
    const breaks = findBreakingChanges(buildSchema(released), current);
    // Remove them from the list with the next release, which records the schema.
    const unintended = breaks.filter((each) => !INTENDED_BREAKS.includes(each));
    expect(INTENDED_BREAKS.filter((each) => !breaks.includes(each))).toEqual([]);
    // Printed instead of compared, because the list contains the remedies.
    if (unintended.length > 0) throw new Error(explainBreaks(unintended, releasedVersion));
  });

  it('is released with the version of the package (npm run release:schema)', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(releasedVersion).toBe(version);
  });
});

const SCHEMA = `
  type Query { user(id: ID, size: Int = 1): User, group(id: ID!): Group, kind: Kind, found(in: In): Found }
  type User { name: String!, email: String, old: Old }
  type Old { name: String }
  type Group { name: String }
  union Found = User | Group
  enum Kind { ONE OTHER }
  input In { part: Int }
`;

/** The breaking changes after one text of the schema above is replaced by another. */
function breaksOf(before: string, after: string, schema = SCHEMA): string[] {
  if (!schema.includes(before)) throw new Error(`There is no ${before}`);
  return findBreakingChanges(buildSchema(schema), buildSchema(schema.replace(before, after)));
}

describe('a breaking change of the schema', () => {
  it.each([
    ['that removes a field', 'email: String,', '', 'User.email was removed.'],
    [
      'that changes a default',
      'size: Int = 1',
      'size: Int = 2',
      'arg size has changed defaultValue from 1 to 2.',
    ],
  ])('is one %s', (_name, before, after, message) => {
    expect(breaksOf(before, after).join('\n')).toContain(message);
  });

  it.each([
    ['that adds a field', 'email: String,', 'email: String, phone: String,'],
    ['that makes a field non-null', 'email: String,', 'email: String!,'],
    ['that adds a description', 'email: String,', '"Where to write to." email: String,'],
  ])('is not one %s', (_name, before, after) => {
    expect(breaksOf(before, after)).toEqual([]);
  });
});

describe('a deprecated element', () => {
  const removal = (schema: string) => {
    const gone = SCHEMA.replace(', old: Old }', '}').replace('type Old { name: String }', '');
    return findBreakingChanges(buildSchema(schema), buildSchema(gone));
  };

  it('may be removed after the release that deprecates it, with the type that only it used', () => {
    expect(removal(SCHEMA.replace('old: Old }', 'old: Old @deprecated }'))).toEqual([]);
    expect(removal(SCHEMA)).toContain('User.old was removed.');
  });
});
