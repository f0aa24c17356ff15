import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ServiceError } from '../../common/errors.js';
import { type Field } from '../../common/field.js';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { CONFIG } from '../../config/config.module.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { GroupsService } from '../../groups/groups.service.js';
import type { ChangeRecord } from '../../ldap/ldif/ldif-record.js';
import { GroupRole } from '../../groups/group.model.js';
import { hiddenMembers, MembershipsService } from '../../memberships/memberships.service.js';
import { NAMED_AS_MEMBER, rolesOfNaming } from '../../mirror/map/named-by.js';
import { addGroup, removeGroup, changeAttributes, previewOf, applyNaming } from '../apply-change.js';
import type {
  CreateGroupInput,
  DeleteGroupInput,
  UpdateGroupInput,
  CreateGroupPayload,
  DeleteGroupPayload,
  UpdateGroupPayload,
} from './group-change.model.js';
import { buildGroupDeletion, buildNewGroup, changeGroup } from './group-record.js';
import {
  forgetReferences,
  isNamed,
  reserveNames,
  MirroredEntries,
  readNesting,
  readCallerRole,
} from '../mirrored-entries.js';
import type { MirroredGroup } from '../mirrored-entries.queries.js';
import { changesOfValue, changesOfFields, changesOfRoles } from '../previewed-changes.js';
import { canCreateGroup, canCreateGroupIn, canDeleteGroup, canUpdateGroup } from '../policy.js';
import { callerOf, canReadAll, noUserContext, type PreviewContext, refuseUnless } from '../rights.js';
import { validateClientMutationId, validateChange, validateNewGroup } from '../validate.js';

const { OWNER, ADMIN } = GroupRole;

@Injectable()
export class GroupPreviewsService {
  private readonly mapping: DirectoryMapping;
  private readonly fields: readonly Field[];

  constructor(
    @Inject(CONFIG) { directory }: Config,
    private readonly entries: MirroredEntries,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {
    this.mapping = directory.mapping;
    this.fields = directory.mapping.groups.fields;
  }

  /** @throws ServiceError NOT_FOUND, NO_USER_CONTEXT, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async createGroup(input: CreateGroupInput, context: RequestContext): Promise<CreateGroupPayload> {
    const caller = callerOf(context);
    const { transaction, principal } = caller;
    const parent = input.parent ? await this.entries.getGroup(caller, input.parent, 'parent') : null;
    const creator = await this.entries.findActor(transaction, principal);
    if (!canCreateGroup(principal, creator)) throw noUserContext('a new group would have no owner');
    if (parent !== null) await refuseParent(parent, caller);
    const clientMutationId = validateClientMutationId(input);
    const wanted = validateNewGroup(input, this.fields);
    const record = buildNewGroup(wanted, creator, this.mapping.groups);
    await this.refuseTaken(wanted.id, record.dn, caller);
    const uuid = randomUUID();
    // Users outside of the limit can already name the DN of the new group.
    if (principal.limitedTo) await forgetReferences(transaction, record.dn);
    await addGroup(transaction, record, uuid, this.mapping);
    const records = [record, ...(parent === null ? [] : await this.nest(parent, wanted.id, transaction))];
    const group = await this.groups.get({ id: wanted.id }, 'id', transaction);
    const { values: after } = await this.entries.getNewGroup(transaction, wanted.id);
    const changes = async () => [
      ...changesOfFields('group', this.fields, { before: null, after }, principal),
      ...changesOfValue(['group', 'parents'], null, parent?.id ?? null),
      ...(creator === null
        ? []
        : changesOfRoles(null, await this.memberships.findRole(creator.key, group.key, transaction))),
    ];
    return { clientMutationId, preview: await previewOf(transaction, records, changes), group };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async updateGroup(input: UpdateGroupInput, context: RequestContext): Promise<UpdateGroupPayload> {
    const caller = callerOf(context);
    const { transaction, principal } = caller;
    const before = await this.entries.getGroup(caller, input.group, 'group');
    const callerRole = await readCallerRole(transaction, principal, before);
    refuseUnless(canUpdateGroup(principal, callerRole), OWNER, 'change it', callerRole, 'group');
    const clientMutationId = validateClientMutationId(input);
    const change = validateChange(input, this.fields);
    const { record, attributes } = changeGroup(before, before.values, change, this.mapping.groups);
    await changeAttributes(transaction, before, attributes, this.mapping);
    const group = await this.groups.get({ id: before.id }, 'group', transaction);
    const { values: after } = await this.entries.getNewGroup(transaction, before.id);
    const changes = changesOfFields('group', this.fields, { before: before.values, after }, principal);
    return { clientMutationId, preview: await previewOf(transaction, [record], changes), group };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async deleteGroup(input: DeleteGroupInput, context: RequestContext): Promise<DeleteGroupPayload> {
    const caller = callerOf(context);
    const { transaction, principal } = caller;
    const group = await this.entries.getGroup(caller, input.group, 'group');
    const callerRole = await readCallerRole(transaction, principal, group);
    refuseUnless(canDeleteGroup(principal, callerRole), OWNER, 'delete it', callerRole, 'group');
    // The members of the outer groups before and after would show them.
    if (group.membersVisibleTo > 0) throw hiddenMembers();
    const clientMutationId = validateClientMutationId(input);
    const outer = await this.entries.listOuterGroups(transaction, group);
    const records = buildGroupDeletion(group, outer, this.mapping.groups);
    await removeGroup(transaction, group, this.mapping);
    const changes = [
      ...changesOfFields('group', this.fields, { before: group.values, after: null }, principal),
      ...outer.flatMap(({ group: { id } }) => changesOfValue(['group', 'parents'], id, null)),
    ];
    const deletedGroupId = group.id;
    return { clientMutationId, preview: await previewOf(transaction, records, changes), deletedGroupId };
  }

  /**
   * Returns the record that names a new group in its parent. There is none if the parent already names its
   * DN.
   */
  private async nest(
    parent: MirroredGroup,
    id: string,
    transaction: PreviewTransaction,
  ): Promise<ChangeRecord[]> {
    const inner = await this.entries.getNewGroup(transaction, id);
    const before = await readNesting(transaction, parent, inner);
    const roles = rolesOfNaming(before);
    const after = roles | NAMED_AS_MEMBER;
    if (after === roles) return [];
    const naming = { kind: 'group', group: parent, subject: inner, before, after } as const;
    return [await applyNaming(transaction, naming, this.mapping)];
  }

  /**
   * Rejects an id that is taken. A principal that creates groups learns which ids are taken, as it would from
   * the directory. For a token that cannot read groups, an id that groups or users already name is rejected too, because
   * the new group would show them as its parents and members.
   */
  private async refuseTaken(
    id: string,
    dn: string,
    { transaction, principal }: PreviewContext,
  ): Promise<void> {
    const isFree =
      (await reserveNames(transaction, id, dn, this.mapping)) &&
      (canReadAll(principal) || !(await isNamed(transaction, dn, this.mapping.users.memberOf !== undefined)));
    if (isFree) return;
    throw new ServiceError('CONFLICT', 'The directory has an entry with this id already', { argument: 'id' });
  }
}

async function refuseParent(
  parent: MirroredGroup,
  { transaction, principal }: PreviewContext,
): Promise<void> {
  const callerRole = await readCallerRole(transaction, principal, parent);
  const isAllowed = canCreateGroupIn(principal, callerRole);
  refuseUnless(isAllowed, ADMIN, 'put a new group into it', callerRole, 'parent');
}
