import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import { CONFIG } from '../../config/config.module.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { GroupsService } from '../../groups/groups.service.js';
import type { GroupMembership } from '../../memberships/membership.model.js';
import { MembershipsService } from '../../memberships/memberships.service.js';
import { GroupRole } from '../../memberships/role.js';
import type { NamedAs } from '../../mirror/map/snapshot.js';
import { UsersService } from '../../users/users.service.js';
import { previewOf } from '../apply-change.js';
import { applyNaming } from './apply-naming.js';
import type { ChangePreview } from '../change.model.js';
import type {
  AddGroupMemberInput,
  RemoveGroupMemberInput,
  UpdateGroupMemberInput,
} from './membership-change.inputs.js';
import type {
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
import { getGroup, getPerson, readMembership, readStanding } from '../mirrored-entries.js';
import type { MirroredGroup, MirroredPerson } from '../mirrored-entries.queries.js';
import { canAddMember, canChangeRoles, canRemoveMember, type Standing } from '../policy.js';
import { callerOf, refuseUnless } from '../rights.js';
import { validateClientMutationId } from '../validate.js';

const { OWNER, ADMIN, MEMBER } = GroupRole;

/** A person, a group, what they are to each other, and what the caller is in the group. */
interface Facts {
  readonly group: MirroredGroup;
  readonly person: MirroredPerson;
  readonly membership: StoredMembership;
  readonly standing: Standing;
}

/** Changes of who is named in which group, and as what. */
@Injectable()
export class MembershipPreviewsService {
  private readonly mapping: DirectoryMapping['groups'];

  constructor(
    @Inject(CONFIG) { directory }: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {
    this.mapping = directory.mapping.groups;
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async addGroupMember(input: AddGroupMemberInput, context: RequestContext): Promise<AddGroupMemberPayload> {
    const { role } = input;
    const facts = await readFacts(input, context);
    const isAllowed = canAddMember(callerOf(context).principal, facts.standing, role);
    refuseUnless(isAllowed, neededFor(role), `add somebody as ${role}`, facts.standing, 'group');
    const clientMutationId = validateClientMutationId(input);
    const preview = await this.rename(facts, addNaming(facts.membership, role), context);
    return { clientMutationId, preview, membership: await this.getMembership(facts, context) };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async updateGroupMember(
    input: UpdateGroupMemberInput,
    context: RequestContext,
  ): Promise<UpdateGroupMemberPayload> {
    const facts = await readFacts(input, context);
    const isAllowed = canChangeRoles(callerOf(context).principal, facts.standing);
    refuseUnless(isAllowed, OWNER, 'change roles in it', facts.standing, 'group');
    const clientMutationId = validateClientMutationId(input);
    const preview = await this.rename(facts, changeNaming(facts.membership, input.role), context);
    return { clientMutationId, preview, membership: await this.getMembership(facts, context) };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async removeGroupMember(
    input: RemoveGroupMemberInput,
    context: RequestContext,
  ): Promise<RemoveGroupMemberPayload> {
    const facts = await readFacts(input, context);
    const { namedAs } = facts.membership;
    // Whoever is not named at all: who may not even remove a member is not told that.
    const role = namedAs === NOT_NAMED ? MEMBER : roleOfNaming(namedAs);
    const isAllowed = canRemoveMember(callerOf(context).principal, facts.standing, role);
    refuseUnless(isAllowed, neededFor(role), `remove somebody who is ${role}`, facts.standing, 'group');
    const clientMutationId = validateClientMutationId(input);
    const preview = await this.rename(facts, removeNaming(facts.membership), context);
    return { clientMutationId, preview, group: await this.getGroup(facts, context) };
  }

  private async rename(
    { group, person, membership }: Facts,
    after: NamedAs,
    { overlay }: RequestContext,
  ): Promise<ChangePreview> {
    const naming = {
      kind: 'memberships',
      group,
      subject: person,
      before: membership.namedAs,
      after,
    } as const;
    return previewOf(overlay, [await applyNaming(overlay, naming, this.mapping)]);
  }

  private async getMembership(facts: Facts, context: RequestContext): Promise<GroupMembership> {
    const user = await this.users.get(facts.person.value, 'user', context.overlay);
    return this.memberships.get(user, await this.getGroup(facts, context), context.overlay);
  }

  private getGroup({ group }: Facts, { overlay }: RequestContext) {
    return this.groups.get(group.value, 'group', overlay);
  }
}

/** @throws ServiceError INSUFFICIENT_SCOPE, or NOT_FOUND when either of them is not in the directory */
async function readFacts(input: RemoveGroupMemberInput, context: RequestContext): Promise<Facts> {
  const caller = callerOf(context);
  const { overlay, principal } = caller;
  const group = await getGroup(caller, input.group, 'group');
  const person = await getPerson(caller, input.user, 'user');
  const membership = await readMembership(overlay, group, person);
  return { group, person, membership, standing: await readStanding(overlay, principal, group) };
}

/** Admins look after members, and owners after everybody. */
function neededFor(role: GroupRole): GroupRole {
  return role === MEMBER ? ADMIN : OWNER;
}
