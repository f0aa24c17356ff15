import { Inject } from '@nestjs/common';
import { Args, Context, Resolver } from '@nestjs/graphql';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { type Group, GroupRole } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { hiddenMembers, MembershipsService } from '../memberships/memberships.service.js';
import { UsersService } from '../users/users.service.js';
import { type ChangePreview, Preview } from './change.model.js';
import { type MembershipChange, namingAfter, NOT_NAMED, roleOfNaming } from './group-records.js';
import {
  AddGroupMemberInput,
  AddGroupMemberPayload,
  type MembershipChangeInput,
  RemoveGroupMemberInput,
  RemoveGroupMemberPayload,
  UpdateGroupMemberInput,
  UpdateGroupMemberPayload,
} from './mutations.model.js';
import { changesOfRoles } from './previewed-changes.js';
import { PreviewedMirror } from './previewed-mirror.js';
import { ROLE_FOR, roleToManage } from './rights.js';

@Resolver()
export class MembershipPreviewsResolver {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {}

  @Preview(
    AddGroupMemberPayload,
    'Previews the addition of a user to a group. Requires the role OWNER in the group, or ADMIN to add a ' +
      'MEMBER, or the scope directory. CONFLICT if the group names the user already.',
  )
  addGroupMember(
    @Args('input', { description: 'The user, the group and the role.' }) input: AddGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<AddGroupMemberPayload> {
    return this.changeRole('add', input, context);
  }

  @Preview(
    UpdateGroupMemberPayload,
    'Previews a new role of a member. Requires the role OWNER in the group, or the scope directory. CONFLICT ' +
      'if the user belongs to the group only through another group.',
  )
  updateGroupMember(
    @Args('input', { description: 'The member, the group and the new role.' })
    input: UpdateGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<UpdateGroupMemberPayload> {
    return this.changeRole('update', input, context);
  }

  @Preview(
    RemoveGroupMemberPayload,
    'Previews the removal of a member from a group. Requires the role OWNER in the group, or ADMIN to remove ' +
      'a MEMBER, or the scope directory. CONFLICT for the last member, and if the user belongs to the group ' +
      'only through another group.',
  )
  async removeGroupMember(
    @Args('input', { description: 'The member to remove and the group to remove them from.' })
    input: RemoveGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<RemoveGroupMemberPayload> {
    const { preview, group } = await this.change('remove', input, GroupRole.MEMBER, context);
    return { preview, group };
  }

  private async changeRole(
    change: 'add' | 'update',
    input: AddGroupMemberInput | UpdateGroupMemberInput,
    context: RequestContext,
  ): Promise<AddGroupMemberPayload> {
    const { preview, group, userId } = await this.change(change, input, input.role, context);
    const { previewTransaction: transaction } = context;
    const user = await this.users.get({ id: userId }, 'user', transaction);
    return { preview, membership: await this.memberships.get(user, group, transaction) };
  }

  /** @param asked the new role of the user; for a removal, the role that counts for a user whom the group does not name */
  private async change(
    change: MembershipChange,
    input: MembershipChangeInput,
    asked: GroupRole,
    context: RequestContext,
  ): Promise<{ preview: ChangePreview; group: Group; userId: string }> {
    const { memberships } = this;
    const mirror = new PreviewedMirror(context, this.config);
    const { transaction } = mirror;
    const group = await mirror.getGroup(input.group, 'group');
    const user = await mirror.getUser(input.user, 'user');
    if (group.membersVisibleTo > 0 && context.viewer.id !== foldId(user.id)) throw hiddenMembers();
    const before = await memberships.findRole(user.key, group.key, transaction);
    const membership = await mirror.readMembership(group, user, before?.value ?? null);
    const { namedAs } = membership;
    const role = change !== 'remove' || namedAs === NOT_NAMED ? asked : roleOfNaming(namedAs);
    const [needed, what] = {
      add: [roleToManage(role), `add a user as ${role}`] as const,
      update: [ROLE_FOR.updateGroupMember, 'change roles in it'] as const,
      remove: [roleToManage(role), `remove a user who is ${role}`] as const,
    }[change];
    await mirror.requireRole(group, needed, what);
    const naming = namingAfter(membership, change, role);
    const record = await mirror.changeNaming(group, user, namedAs, naming);
    const after = await memberships.findRole(user.key, group.key, transaction);
    const preview = await mirror.preview([record], changesOfRoles(before, after));
    return { preview, group: await this.groups.get({ id: group.id }, 'group', transaction), userId: user.id };
  }
}
