import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Context, ID, Resolver } from '@nestjs/graphql';
import { hasScopes } from '../auth/access.js';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Group, type GroupRole } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { GroupMembership } from '../memberships/membership.model.js';
import { hiddenMembers, MembershipsService } from '../memberships/memberships.service.js';
import { NAMED_AS_MEMBER, rolesOfNaming } from '../sources/references.js';
import { Profile, User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import * as groupRecords from './group-records.js';
import * as model from './mutations.model.js';
import { Input, Preview } from './mutations.model.js';
import { changesOfRoles, changesOfValue } from './records.js';
import { PreviewedMirror } from './previewed-mirror.js';
import { ADMINISTRATOR_SCOPES, noUserContext, ROLE_FOR, roleToManage } from './rights.js';
import { validateNewGroup } from './values.js';

const GROUP: model.PayloadObject = ['group', () => Group, 'The group as it would be after the change.'];
const MEMBERSHIP: model.PayloadObject = [
  'membership',
  () => GroupMembership,
  'The membership as it would be after the change. `role.value` is higher than the requested role if the ' +
    'user has a higher role through another group.',
];

/** Each mutation finds what it names, checks the right, changes it, and reads it again. */
@Resolver()
export class PreviewsResolver {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {}

  @Preview(
    ['profile', () => Profile, 'The profile as it would be after the change.'],
    'Previews changes to the user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of ' +
      'the directory.',
    ['profile', 'write'],
  )
  async updateProfile(
    @Input('The changes.') input: model.UpdateProfileInput,
    @Context() context: RequestContext,
  ) {
    const mirror = new PreviewedMirror(context, this.config);
    const actor = await mirror.findActor();
    if (actor === null) throw noUserContext('there is no profile to change');
    const preview = await mirror.changeFields(actor, input, 'profile');
    const user = await this.users.get({ id: actor.id }, 'user', mirror.transaction);
    return { preview, profile: new Profile(user) };
  }

  @Preview(
    ['user', () => User, 'The user as they would be after the change.'],
    'Previews changes to a user. NOT_FOUND if no user has the id.',
    ADMINISTRATOR_SCOPES,
  )
  async updateUser(
    @Input('The user and their changes.') input: model.UpdateUserInput,
    @Context() context: RequestContext,
  ) {
    const mirror = new PreviewedMirror(context, this.config);
    const user = await mirror.getUser(input.user, 'user');
    const preview = await mirror.changeFields(user, input, 'user');
    return { preview, user: await this.users.get({ id: user.id }, 'user', mirror.transaction) };
  }

  @Preview(
    GROUP,
    'Previews a new group. Creating it inside another group requires the role ADMIN or OWNER in that group, ' +
      'or the scope directory. CONFLICT if the id is taken.',
  )
  async createGroup(
    @Input('The new group.') input: model.CreateGroupInput,
    @Context() context: RequestContext,
  ) {
    const mirror = new PreviewedMirror(context, this.config);
    const { mapping, principal, transaction } = mirror;
    const parent = input.parent ? await mirror.getGroup(input.parent, 'parent') : null;
    const creator = await mirror.findActor();
    // The creator of a group becomes its owner.
    if (creator === null && !hasScopes(principal, ADMINISTRATOR_SCOPES))
      throw noUserContext('a new group would have no owner');
    if (parent !== null)
      await mirror.requireRole(parent, ROLE_FOR.createGroupInside, 'put a new group into it', 'parent');
    const { id } = input;
    const wanted = validateNewGroup(input, mapping.groups.fields);
    const { record, attributes } = groupRecords.buildNewGroup(wanted, creator, mapping);
    await mirror.reserve(id, record.dn);
    // The directory would assign the entryUUID.
    const entry = { kind: 'group', key: 0, uuid: randomUUID(), id, dn: record.dn, attributes } as const;
    const created = { ...entry, key: await mirror.change(entry) };
    const changed = [record];
    if (parent !== null) {
      // The parent may name the DN already.
      const { namedAs } = await mirror.readNaming(parent, created);
      const roles = rolesOfNaming(namedAs);
      if ((roles & NAMED_AS_MEMBER) === 0)
        changed.push(await mirror.changeNaming(parent, created, namedAs, roles | NAMED_AS_MEMBER));
    }
    const role = creator && (await this.memberships.findRole(creator.key, created.key, transaction));
    const changes = [
      ...mirror.changesOf('group', null, created),
      ...changesOfValue(['group', 'parents'], null, parent?.id ?? null),
      ...changesOfRoles(null, role),
    ];
    const preview = await mirror.preview(changed, changes);
    return { preview, group: await this.groups.get({ id }, 'id', transaction) };
  }

  @Preview(
    GROUP,
    'Previews changes to the attributes of a group. Requires the role OWNER in the group, or the scope ' +
      'directory; otherwise FORBIDDEN. NOT_FOUND if no group has the id.',
  )
  async updateGroup(
    @Input('The group and its changes.') input: model.UpdateGroupInput,
    @Context() context: RequestContext,
  ) {
    const mirror = new PreviewedMirror(context, this.config);
    const group = await mirror.getGroup(input.group, 'group');
    await mirror.requireRole(group, ROLE_FOR.updateGroup, 'change it');
    const preview = await mirror.changeFields(group, input, 'group');
    return { preview, group: await this.groups.get({ id: group.id }, 'group', mirror.transaction) };
  }

  @Preview(
    ['deletedGroupId', () => ID, 'The id of the group that would be deleted.'],
    'Previews the deletion of a group and its removal from the groups that contain it. Requires the role ' +
      'OWNER in the group, or the scope directory. CONFLICT if it is the last member of one of these groups.',
  )
  async deleteGroup(@Input('The group.') input: model.DeleteGroupInput, @Context() context: RequestContext) {
    const mirror = new PreviewedMirror(context, this.config);
    const group = await mirror.getGroup(input.group, 'group');
    await mirror.requireRole(group, ROLE_FOR.deleteGroup, 'delete it');
    // The members of the outer groups before and after would show them.
    if (group.membersVisibleTo > 0) throw hiddenMembers();
    const outer = await mirror.listOuterGroups(group);
    const changed = groupRecords.buildGroupDeletion(group, outer, mirror.mapping);
    await mirror.removeGroup(group);
    const changes = [
      ...mirror.changesOf('group', group, null),
      ...outer.flatMap(({ group: { id } }) => changesOfValue(['group', 'parents'], id, null)),
    ];
    return { preview: await mirror.preview(changed, changes), deletedGroupId: group.id };
  }

  @Preview(
    MEMBERSHIP,
    'Previews the addition of a user to a group. Requires the role OWNER in the group, or ADMIN to add a ' +
      'MEMBER, or the scope directory. CONFLICT if the group names the user already.',
  )
  addGroupMember(
    @Input('The user, the group and the role.') input: model.AddGroupMemberInput,
    @Context() context: RequestContext,
  ) {
    return this.changeMembership('add', input, input.role, context);
  }

  @Preview(
    MEMBERSHIP,
    'Previews a new role of a member. Requires the role OWNER in the group, or the scope directory. CONFLICT ' +
      'if the user belongs to the group only through another group.',
  )
  updateGroupMember(
    @Input('The member, the group and the new role.') input: model.UpdateGroupMemberInput,
    @Context() context: RequestContext,
  ) {
    return this.changeMembership('update', input, input.role, context);
  }

  @Preview(
    ['group', () => Group, 'The changed group. The user can still belong to it through another group.'],
    'Previews the removal of a member from a group. Requires the role OWNER in the group, or ADMIN to remove ' +
      'a MEMBER, or the scope directory. CONFLICT for the last member, and if the user belongs to the group ' +
      'only through another group.',
  )
  removeGroupMember(
    @Input('The member to remove and the group to remove them from.') input: model.RemoveGroupMemberInput,
    @Context() context: RequestContext,
  ) {
    return this.changeMembership('remove', input, null, context);
  }

  /** @param asked the new role of the user. Null: it is removed */
  private async changeMembership(
    change: groupRecords.MembershipChange,
    input: model.MembershipChangeInput,
    asked: GroupRole | null,
    context: RequestContext,
  ) {
    const { memberships } = this;
    const mirror = new PreviewedMirror(context, this.config);
    const { transaction } = mirror;
    const group = await mirror.getGroup(input.group, 'group');
    const user = await mirror.getUser(input.user, 'user');
    if (group.membersVisibleTo > 0 && context.viewer.id !== foldId(user.id)) throw hiddenMembers();
    const before = await memberships.findRole(user.key, group.key, transaction);
    const membership = { ...(await mirror.readNaming(group, user)), role: before?.value ?? null };
    const { namedAs } = membership;
    const role = asked ?? groupRecords.roleOfNaming(namedAs);
    const needed = change === 'update' ? ROLE_FOR.updateGroupMember : roleToManage(role);
    const what = change === 'add' ? `add a user as ${role}` : `remove a user who is ${role}`;
    await mirror.requireRole(group, needed, change === 'update' ? 'change roles in it' : what);
    const naming = groupRecords.namingAfter(membership, change, role);
    const record = await mirror.changeNaming(group, user, namedAs, naming);
    const after = await memberships.findRole(user.key, group.key, transaction);
    const preview = await mirror.preview([record], changesOfRoles(before, after));
    const shown = await this.groups.get({ id: group.id }, 'group', transaction);
    if (change === 'remove') return { preview, group: shown };
    const member = await this.users.get({ id: user.id }, 'user', transaction);
    return { preview, membership: after && { user: member, group: shown, role: after } };
  }
}
