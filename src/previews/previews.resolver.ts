import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Args, Context, Resolver } from '@nestjs/graphql';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { type Group, GroupRole } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { hiddenMembers, MembershipsService } from '../memberships/memberships.service.js';
import { NAMED_AS_MEMBER, rolesOfNaming } from '../mirror/map/named-by.js';
import { Profile } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import { type ChangePreview, Preview } from './change.model.js';
import * as records from './group-records.js';
import * as model from './mutations.model.js';
import { changesOfFields, changesOfRoles, changesOfValue } from './previewed-changes.js';
import { PreviewedMirror } from './previewed-mirror.js';
import { valuesOf } from './records.js';
import { ADMINISTRATOR_SCOPES, mayCreateGroup, noUserContext, ROLE_FOR, roleToManage } from './rights.js';
import { validateNewGroup } from './values.js';

/** The eight mutations. Each finds what it names, checks the right, changes it, and reads it again. */
@Resolver()
export class PreviewsResolver {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {}

  @Preview(
    model.UpdateProfilePayload,
    'Previews changes to the user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of ' +
      'the directory.',
    ['profile', 'write'],
  )
  async updateProfile(
    @Args('input', { description: 'The changes.' }) input: model.UpdateProfileInput,
    @Context() context: RequestContext,
  ): Promise<model.UpdateProfilePayload> {
    const mirror = new PreviewedMirror(context, this.config);
    const actor = await mirror.findActor();
    if (actor === null) throw noUserContext('there is no profile to change');
    const preview = await mirror.changeFields(actor, input, 'profile');
    const user = await this.users.get({ id: actor.id }, 'user', mirror.transaction);
    return { preview, profile: new Profile(user) };
  }

  @Preview(
    model.UpdateUserPayload,
    'Previews changes to a user. NOT_FOUND if no user has the id.',
    ADMINISTRATOR_SCOPES,
  )
  async updateUser(
    @Args('input', { description: 'The user and their changes.' }) input: model.UpdateUserInput,
    @Context() context: RequestContext,
  ): Promise<model.UpdateUserPayload> {
    const mirror = new PreviewedMirror(context, this.config);
    const user = await mirror.getUser(input.user, 'user');
    const preview = await mirror.changeFields(user, input, 'user');
    return { preview, user: await this.users.get({ id: user.id }, 'user', mirror.transaction) };
  }

  @Preview(
    model.CreateGroupPayload,
    'Previews a new group. Creating it inside another group requires the role ADMIN or OWNER in that group, ' +
      'or the scope directory. CONFLICT if the id is taken.',
  )
  async createGroup(
    @Args('input', { description: 'The new group.' }) input: model.CreateGroupInput,
    @Context() context: RequestContext,
  ): Promise<model.CreateGroupPayload> {
    const mirror = new PreviewedMirror(context, this.config);
    const { mapping, principal, transaction } = mirror;
    const { fields } = mapping.groups;
    const parent = input.parent ? await mirror.getGroup(input.parent, 'parent') : null;
    const creator = await mirror.findActor();
    if (!mayCreateGroup(principal, creator)) throw noUserContext('a new group would have no owner');
    if (parent !== null)
      await mirror.requireRole(parent, ROLE_FOR.createGroupInside, 'put a new group into it', 'parent');
    const wanted = validateNewGroup(input, fields);
    const { id } = wanted;
    const { record, attributes } = records.buildNewGroup(wanted, creator, mapping);
    const { dn } = record;
    await mirror.reserve(id, dn);
    // The directory would assign the entryUUID.
    const entry = { kind: 'group', uuid: randomUUID(), id, dn, attributes } as const;
    const created = { ...entry, key: await mirror.change({ ...entry, key: null }) };
    const changed = [record];
    if (parent !== null) {
      // The parent may name the DN already.
      const outer = await mirror.listOuterGroups(created);
      const before = outer.find(({ group }) => group.key === parent.key)?.namedAs ?? records.NOT_NAMED;
      const roles = rolesOfNaming(before);
      if ((roles & NAMED_AS_MEMBER) === 0)
        changed.push(await mirror.changeNaming(parent, created, before, roles | NAMED_AS_MEMBER));
    }
    const role = creator && (await this.memberships.findRole(creator.key, created.key, transaction));
    const changes = [
      ...changesOfFields('group', fields, null, valuesOf(created, mapping), principal),
      ...changesOfValue(['group', 'parents'], null, parent?.id ?? null),
      ...changesOfRoles(null, role),
    ];
    const preview = await mirror.preview(changed, changes);
    return { preview, group: await this.groups.get({ id }, 'id', transaction) };
  }

  @Preview(
    model.UpdateGroupPayload,
    'Previews changes to the attributes of a group. Requires the role OWNER in the group, or the scope ' +
      'directory; otherwise FORBIDDEN. NOT_FOUND if no group has the id.',
  )
  async updateGroup(
    @Args('input', { description: 'The group and its changes.' }) input: model.UpdateGroupInput,
    @Context() context: RequestContext,
  ): Promise<model.UpdateGroupPayload> {
    const mirror = new PreviewedMirror(context, this.config);
    const group = await mirror.getGroup(input.group, 'group');
    await mirror.requireRole(group, ROLE_FOR.updateGroup, 'change it');
    const preview = await mirror.changeFields(group, input, 'group');
    return { preview, group: await this.groups.get({ id: group.id }, 'group', mirror.transaction) };
  }

  @Preview(
    model.DeleteGroupPayload,
    'Previews the deletion of a group and its removal from the groups that contain it. Requires the role ' +
      'OWNER in the group, or the scope directory. CONFLICT if it is the last member of one of these groups.',
  )
  async deleteGroup(
    @Args('input', { description: 'The group.' }) input: model.DeleteGroupInput,
    @Context() context: RequestContext,
  ): Promise<model.DeleteGroupPayload> {
    const mirror = new PreviewedMirror(context, this.config);
    const { mapping } = mirror;
    const group = await mirror.getGroup(input.group, 'group');
    await mirror.requireRole(group, ROLE_FOR.deleteGroup, 'delete it');
    // The members of the outer groups before and after would show them.
    if (group.membersVisibleTo > 0) throw hiddenMembers();
    const outer = await mirror.listOuterGroups(group);
    const changed = records.buildGroupDeletion(group, outer, mapping);
    await mirror.removeGroup(group);
    const changes = [
      ...changesOfFields('group', mapping.groups.fields, valuesOf(group, mapping), null, mirror.principal),
      ...outer.flatMap(({ group: { id } }) => changesOfValue(['group', 'parents'], id, null)),
    ];
    return { preview: await mirror.preview(changed, changes), deletedGroupId: group.id };
  }

  @Preview(
    model.AddGroupMemberPayload,
    'Previews the addition of a user to a group. Requires the role OWNER in the group, or ADMIN to add a ' +
      'MEMBER, or the scope directory. CONFLICT if the group names the user already.',
  )
  addGroupMember(
    @Args('input', { description: 'The user, the group and the role.' }) input: model.AddGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<model.AddGroupMemberPayload> {
    return this.changeRole('add', input, context);
  }

  @Preview(
    model.UpdateGroupMemberPayload,
    'Previews a new role of a member. Requires the role OWNER in the group, or the scope directory. CONFLICT ' +
      'if the user belongs to the group only through another group.',
  )
  updateGroupMember(
    @Args('input', { description: 'The member, the group and the new role.' })
    input: model.UpdateGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<model.UpdateGroupMemberPayload> {
    return this.changeRole('update', input, context);
  }

  @Preview(
    model.RemoveGroupMemberPayload,
    'Previews the removal of a member from a group. Requires the role OWNER in the group, or ADMIN to remove ' +
      'a MEMBER, or the scope directory. CONFLICT for the last member, and if the user belongs to the group ' +
      'only through another group.',
  )
  async removeGroupMember(
    @Args('input', { description: 'The member to remove and the group to remove them from.' })
    input: model.RemoveGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<model.RemoveGroupMemberPayload> {
    const { preview, group } = await this.change('remove', input, GroupRole.MEMBER, context);
    return { preview, group };
  }

  private async changeRole(
    change: 'add' | 'update',
    input: model.AddGroupMemberInput | model.UpdateGroupMemberInput,
    context: RequestContext,
  ): Promise<model.AddGroupMemberPayload> {
    const { preview, group, userId } = await this.change(change, input, input.role, context);
    const { previewTransaction: transaction } = context;
    const user = await this.users.get({ id: userId }, 'user', transaction);
    return { preview, membership: await this.memberships.get(user, group, transaction) };
  }

  /** @param asked the new role of the user; for a removal, the role that counts for a user whom the group does not name */
  private async change(
    change: records.MembershipChange,
    input: model.MembershipChangeInput,
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
    const membership = { ...(await mirror.readNaming(group, user)), role: before?.value ?? null };
    const { namedAs } = membership;
    const role = change !== 'remove' || namedAs === records.NOT_NAMED ? asked : records.roleOfNaming(namedAs);
    const [needed, what] = {
      add: [roleToManage(role), `add a user as ${role}`] as const,
      update: [ROLE_FOR.updateGroupMember, 'change roles in it'] as const,
      remove: [roleToManage(role), `remove a user who is ${role}`] as const,
    }[change];
    await mirror.requireRole(group, needed, what);
    const naming = records.namingAfter(membership, change, role);
    const record = await mirror.changeNaming(group, user, namedAs, naming);
    const after = await memberships.findRole(user.key, group.key, transaction);
    const preview = await mirror.preview([record], changesOfRoles(before, after));
    return { preview, group: await this.groups.get({ id: group.id }, 'group', transaction), userId: user.id };
  }
}
