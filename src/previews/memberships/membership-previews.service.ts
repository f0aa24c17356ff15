import { Inject, Injectable } from '@nestjs/common';
import { foldId } from '../../common/identity.js';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { CONFIG } from '../../config/config.module.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { GroupsService } from '../../groups/groups.service.js';
import type { GroupMembership } from '../../memberships/membership.model.js';
import { hiddenMembers, MembershipsService } from '../../memberships/memberships.service.js';
import { GroupRole } from '../../groups/group.model.js';
import type { RoleSum } from '../../mirror/map/named-by.js';
import { UsersService } from '../../users/users.service.js';
import { previewOf, applyNaming } from '../apply-change.js';
import type { ChangePreview } from '../change.model.js';
import type {
  AddGroupMemberInput,
  RemoveGroupMemberInput,
  UpdateGroupMemberInput,
  AddGroupMemberPayload,
  RemoveGroupMemberPayload,
  UpdateGroupMemberPayload,
} from './membership-change.model.js';
import {
  addNaming,
  changeNaming,
  NOT_NAMED,
  removeNaming,
  roleOfNaming,
  type StoredMembership,
} from './membership-record.js';
import { MirroredEntries, readMembership, readCallerRole } from '../mirrored-entries.js';
import type { MirroredGroup, MirroredUser } from '../mirrored-entries.queries.js';
import { canAddMember, canChangeRoles, canRemoveMember, type CallerRole } from '../policy.js';
import { changesOfRoles, type Roles } from '../previewed-changes.js';
import { callerOf, refuseUnless } from '../rights.js';
import { validateClientMutationId } from '../validate.js';

const { OWNER, ADMIN, MEMBER } = GroupRole;

/** A user, a group, the user's membership in it, and the role of the caller in the group. */
interface MembershipTarget {
  readonly group: MirroredGroup;
  readonly person: MirroredUser;
  readonly membership: StoredMembership;
  readonly callerRole: CallerRole;
}

@Injectable()
export class MembershipPreviewsService {
  private readonly mapping: DirectoryMapping;

  constructor(
    @Inject(CONFIG) { directory }: Config,
    private readonly entries: MirroredEntries,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {
    this.mapping = directory.mapping;
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async addGroupMember(input: AddGroupMemberInput, context: RequestContext): Promise<AddGroupMemberPayload> {
    const { role } = input;
    const target = await this.readTarget(input, context);
    const isAllowed = canAddMember(callerOf(context).principal, target.callerRole, role);
    refuseUnless(isAllowed, neededFor(role), `add a user as ${role}`, target.callerRole, 'group');
    const clientMutationId = validateClientMutationId(input);
    const preview = await this.applyMembershipChange(target, addNaming(target.membership, role), context);
    return { clientMutationId, preview, membership: await this.getMembership(target, context) };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async updateGroupMember(
    input: UpdateGroupMemberInput,
    context: RequestContext,
  ): Promise<UpdateGroupMemberPayload> {
    const target = await this.readTarget(input, context);
    const isAllowed = canChangeRoles(callerOf(context).principal, target.callerRole);
    refuseUnless(isAllowed, OWNER, 'change roles in it', target.callerRole, 'group');
    const clientMutationId = validateClientMutationId(input);
    const preview = await this.applyMembershipChange(
      target,
      changeNaming(target.membership, input.role),
      context,
    );
    return { clientMutationId, preview, membership: await this.getMembership(target, context) };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async removeGroupMember(
    input: RemoveGroupMemberInput,
    context: RequestContext,
  ): Promise<RemoveGroupMemberPayload> {
    const target = await this.readTarget(input, context);
    const { namedAs } = target.membership;
    // For a user who is not named at all: a caller who may not even remove a member does not learn this.
    const role = namedAs === NOT_NAMED ? MEMBER : roleOfNaming(namedAs);
    const isAllowed = canRemoveMember(callerOf(context).principal, target.callerRole, role);
    refuseUnless(isAllowed, neededFor(role), `remove a user who is ${role}`, target.callerRole, 'group');
    const clientMutationId = validateClientMutationId(input);
    const preview = await this.applyMembershipChange(target, removeNaming(target.membership), context);
    return { clientMutationId, preview, group: await this.getGroup(target, context) };
  }

  /**
   * @throws ServiceError INSUFFICIENT_SCOPE; NOT_FOUND when the user or the group does not exist; FORBIDDEN when the token may
   * not see who belongs to the group
   */
  private async readTarget(
    input: RemoveGroupMemberInput,
    context: RequestContext,
  ): Promise<MembershipTarget> {
    const caller = callerOf(context);
    const { transaction, principal } = caller;
    const group = await this.entries.getGroup(caller, input.group, 'group');
    const person = await this.entries.getUser(caller, input.user, 'user');
    const isHidden = group.membersVisibleTo > 0;
    if (isHidden && context.viewer.id !== foldId(person.id)) throw hiddenMembers();
    const membership = await readMembership(
      transaction,
      group,
      person,
      this.mapping.users.memberOf !== undefined,
    );
    return { group, person, membership, callerRole: await readCallerRole(transaction, principal, group) };
  }

  private async applyMembershipChange(
    { group, person, membership }: MembershipTarget,
    after: RoleSum,
    { previewTransaction: transaction }: RequestContext,
  ): Promise<ChangePreview> {
    const naming = {
      kind: 'person',
      group,
      subject: person,
      before: membership.namedAs,
      after,
    } as const;
    const record = await applyNaming(transaction, naming, this.mapping);
    return previewOf(transaction, [record], async () =>
      changesOfRoles(
        rolesOf(membership),
        await this.memberships.findRole(person.key, group.key, transaction),
      ),
    );
  }

  private async getMembership(target: MembershipTarget, context: RequestContext): Promise<GroupMembership> {
    const user = await this.users.get({ id: target.person.id }, 'user', context.previewTransaction);
    return this.memberships.get(user, await this.getGroup(target, context), context.previewTransaction);
  }

  private getGroup({ group }: MembershipTarget, { previewTransaction: transaction }: RequestContext) {
    return this.groups.get({ id: group.id }, 'group', transaction);
  }
}

/** Returns the role that is needed to manage a role: admins manage members, owners manage all roles. */
function neededFor(role: GroupRole): GroupRole {
  return role === MEMBER ? ADMIN : OWNER;
}

/** A user who names the group is a member of it. */
function rolesOf({ namedAs, role, isNamedByUser }: StoredMembership): Roles {
  const direct = namedAs === NOT_NAMED ? null : roleOfNaming(namedAs);
  return { value: role, direct: direct ?? (isNamedByUser ? MEMBER : null) };
}
