import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import { CONFIG } from '../../config/config.module.js';
import type { Overlay } from '../../database/statements/preview-transaction.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { GroupsService } from '../../groups/groups.service.js';
import type { ChangeRecord } from '../../ldap/ldif/ldif-record.js';
import { GroupRole } from '../../memberships/role.js';
import { NAMED_AS_MEMBER } from '../../mirror/map/snapshot.js';
import { addGroup, removeGroup } from './apply-group.js';
import { applyChange, previewOf } from '../apply-change.js';
import { applyNaming } from '../memberships/apply-naming.js';
import type { CreateGroupInput, DeleteGroupInput, UpdateGroupInput } from './group-change.inputs.js';
import type { CreateGroupPayload, DeleteGroupPayload, UpdateGroupPayload } from './group-change.model.js';
import { buildGroupDeletion, buildNewGroup, changeGroup } from './group-record.js';
import {
  findActor,
  getGroup,
  getNewGroup,
  isNamed,
  isTaken,
  listOuterGroups,
  readNesting,
  readStanding,
} from '../mirrored-entries.js';
import type { MirroredGroup } from '../mirrored-entries.queries.js';
import { canCreateGroup, canCreateGroupIn, canDeleteGroup, canUpdateGroup } from '../policy.js';
import { type Caller, canReadAll } from '../readable-objects.js';
import { callerOf, noUserContext, refuseUnless } from '../rights.js';
import { validateClientMutationId, validateGroupChange, validateNewGroup } from '../validate.js';
import { withChange } from '../with-change.js';

const { OWNER, ADMIN } = GroupRole;

/** Changes of groups. */
@Injectable()
export class GroupPreviewsService {
  private readonly mapping: DirectoryMapping['groups'];

  constructor(
    @Inject(CONFIG) { directory }: Config,
    private readonly groups: GroupsService,
  ) {
    this.mapping = directory.mapping.groups;
  }

  /** @throws ServiceError NOT_FOUND, NO_USER_CONTEXT, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async createGroup(input: CreateGroupInput, context: RequestContext): Promise<CreateGroupPayload> {
    const caller = callerOf(context);
    const { overlay, principal } = caller;
    const parent = input.parent ? await getGroup(caller, input.parent, 'parent') : null;
    const creator = await findActor(overlay, principal);
    if (!canCreateGroup(principal, creator)) throw noUserContext('a new group would have no owner');
    if (parent !== null) await refuseParent(parent, caller);
    const clientMutationId = validateClientMutationId(input);
    const wanted = validateNewGroup(input);
    const record = buildNewGroup(wanted, creator?.value.dn ?? null, this.mapping);
    await refuseTaken(wanted.id, record.dn, caller);
    await addGroup(overlay, record, randomUUID(), this.mapping);
    const records = [record, ...(parent === null ? [] : await this.nest(parent, wanted.id, overlay))];
    const group = await this.groups.get(wanted, 'id', overlay);
    return { clientMutationId, preview: await previewOf(overlay, records), group };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async updateGroup(input: UpdateGroupInput, context: RequestContext): Promise<UpdateGroupPayload> {
    const caller = callerOf(context);
    const { overlay, principal } = caller;
    const before = await getGroup(caller, input.group, 'group');
    const standing = await readStanding(overlay, principal, before);
    refuseUnless(canUpdateGroup(principal, standing), OWNER, 'change it', standing, 'group');
    const clientMutationId = validateClientMutationId(input);
    const change = validateGroupChange(input);
    const { record, sourceValues } = changeGroup(before.value, change, this.mapping);
    const value = { ...before.value, ...withChange(before.value, change), sourceValues };
    await applyChange(overlay, { updatedGroups: [{ ...before, value }] });
    const group = await this.groups.get(before.value, 'group', overlay);
    return { clientMutationId, preview: await previewOf(overlay, [record]), group };
  }

  /** @throws ServiceError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT or CONFLICT */
  async deleteGroup(input: DeleteGroupInput, context: RequestContext): Promise<DeleteGroupPayload> {
    const caller = callerOf(context);
    const { overlay, principal } = caller;
    const group = await getGroup(caller, input.group, 'group');
    const standing = await readStanding(overlay, principal, group);
    refuseUnless(canDeleteGroup(principal, standing), OWNER, 'delete it', standing, 'group');
    const clientMutationId = validateClientMutationId(input);
    const outer = await listOuterGroups(overlay, group);
    const references = outer.map(({ group: { value }, namedAs }) => ({ group: value, namedAs }));
    const records = buildGroupDeletion(group.value, references, this.mapping);
    await removeGroup(overlay, group, outer);
    const deletedGroupId = group.value.id;
    return { clientMutationId, preview: await previewOf(overlay, records), deletedGroupId };
  }

  /** The record that names a new group in its parent; none when the parent named its DN all along. */
  private async nest(parent: MirroredGroup, id: string, overlay: Overlay): Promise<ChangeRecord[]> {
    const inner = await getNewGroup(overlay, id);
    const before = await readNesting(overlay, parent, inner);
    const after = before | NAMED_AS_MEMBER;
    if (after === before) return [];
    const naming = { kind: 'nestings', group: parent, subject: inner, before, after } as const;
    return [await applyNaming(overlay, naming, this.mapping)];
  }
}

async function refuseParent(parent: MirroredGroup, { overlay, principal }: Caller): Promise<void> {
  const standing = await readStanding(overlay, principal, parent);
  const isAllowed = canCreateGroupIn(principal, standing);
  refuseUnless(isAllowed, ADMIN, 'put a new group into it', standing, 'parent');
}

/**
 * Whoever creates groups learns which ids are taken: the directory would say the same. A token that cannot read groups is
 * refused an id that groups name already, too, because the new group would show them as its parents.
 */
async function refuseTaken(id: string, dn: string, { overlay, principal }: Caller): Promise<void> {
  const isFree =
    !(await isTaken(overlay, id, dn)) && (canReadAll(principal) || !(await isNamed(overlay, dn)));
  if (isFree) return;
  throw new ServiceError('CONFLICT', 'The directory has an entry with this id already', { argument: 'id' });
}
