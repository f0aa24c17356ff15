import { randomUUID } from 'node:crypto';
import { Args, Context, Resolver } from '@nestjs/graphql';
import type { RequestContext } from '../graphql/http/request-context.js';
import { GroupsService } from '../groups/groups.service.js';
import { hiddenMembers, MembershipsService } from '../memberships/memberships.service.js';
import { NAMED_AS_MEMBER } from '../mirror/map/snapshot.js';
import { Preview } from './change.model.js';
import { buildGroupDeletion, buildNewGroup, NOT_NAMED } from './group-records.js';
import {
  CreateGroupInput,
  CreateGroupPayload,
  DeleteGroupInput,
  DeleteGroupPayload,
  UpdateGroupInput,
  UpdateGroupPayload,
} from './mutations.model.js';
import { changesOfFields, changesOfRoles, changesOfValue } from './previewed-changes.js';
import { callerOf, PreviewedMirror } from './previewed-mirror.js';
import { valuesOf } from './records.js';
import { mayCreateGroup, noUserContext, ROLE_FOR } from './rights.js';
import { validateNewGroup } from './values.js';

@Resolver()
export class GroupPreviewsResolver {
  constructor(
    private readonly mirror: PreviewedMirror,
    private readonly groups: GroupsService,
    private readonly memberships: MembershipsService,
  ) {}

  @Preview(
    CreateGroupPayload,
    'Previews a new group. Creating it inside another group requires the role ADMIN or OWNER in that group, ' +
      'or the scope directory. CONFLICT if the id is taken.',
  )
  async createGroup(
    @Args('input', { description: 'The new group.' }) input: CreateGroupInput,
    @Context() context: RequestContext,
  ): Promise<CreateGroupPayload> {
    const { mirror } = this;
    const { mapping } = mirror;
    const { fields } = mapping.groups;
    const caller = callerOf(context);
    const { transaction, principal } = caller;
    const parent = input.parent ? await mirror.getGroup(caller, input.parent, 'parent') : null;
    const creator = await mirror.findActor(caller);
    if (!mayCreateGroup(principal, creator)) throw noUserContext('a new group would have no owner');
    if (parent !== null)
      await mirror.requireRole(
        caller,
        parent,
        ROLE_FOR.createGroupInside,
        'put a new group into it',
        'parent',
      );
    const wanted = validateNewGroup(input, fields);
    const { id } = wanted;
    const { record, attributes } = buildNewGroup(wanted, creator, mapping);
    const { dn } = record;
    await mirror.reserve(caller, id, dn);
    // The directory would assign the entryUUID.
    const entry = { kind: 'group', uuid: randomUUID(), id, dn, attributes } as const;
    const created = { ...entry, key: await mirror.change(caller, { ...entry, key: null }) };
    const records = [record];
    if (parent !== null) {
      // The parent may name the DN already.
      const outer = await mirror.listOuterGroups(caller, created);
      const before = outer.find(({ group }) => group.key === parent.key)?.namedAs ?? NOT_NAMED;
      const after = before | NAMED_AS_MEMBER;
      if (after !== before) records.push(await mirror.changeNaming(caller, parent, created, before, after));
    }
    const role = creator && (await this.memberships.findRole(creator.key, created.key, transaction));
    const changes = [
      ...changesOfFields('group', fields, null, valuesOf(created, mapping), principal),
      ...changesOfValue(['group', 'parents'], null, parent?.id ?? null),
      ...changesOfRoles(null, role),
    ];
    const preview = await mirror.preview(caller, records, changes);
    return { preview, group: await this.groups.get({ id }, 'id', transaction) };
  }

  @Preview(
    UpdateGroupPayload,
    'Previews changes to the attributes of a group. Requires the role OWNER in the group, or the scope ' +
      'directory; otherwise FORBIDDEN. NOT_FOUND if no group has the id.',
  )
  async updateGroup(
    @Args('input', { description: 'The group and its changes.' }) input: UpdateGroupInput,
    @Context() context: RequestContext,
  ): Promise<UpdateGroupPayload> {
    const caller = callerOf(context);
    const group = await this.mirror.getGroup(caller, input.group, 'group');
    await this.mirror.requireRole(caller, group, ROLE_FOR.updateGroup, 'change it');
    const preview = await this.mirror.changeFields(caller, group, input, 'group');
    return { preview, group: await this.groups.get({ id: group.id }, 'group', caller.transaction) };
  }

  @Preview(
    DeleteGroupPayload,
    'Previews the deletion of a group and its removal from the groups that contain it. Requires the role ' +
      'OWNER in the group, or the scope directory. CONFLICT if it is the last member of one of these groups.',
  )
  async deleteGroup(
    @Args('input', { description: 'The group.' }) input: DeleteGroupInput,
    @Context() context: RequestContext,
  ): Promise<DeleteGroupPayload> {
    const { mirror } = this;
    const { mapping } = mirror;
    const caller = callerOf(context);
    const group = await mirror.getGroup(caller, input.group, 'group');
    await mirror.requireRole(caller, group, ROLE_FOR.deleteGroup, 'delete it');
    // The members of the outer groups before and after would show them.
    if (group.membersVisibleTo > 0) throw hiddenMembers();
    const outer = await mirror.listOuterGroups(caller, group);
    const records = buildGroupDeletion(group, outer, mapping);
    await mirror.removeGroup(caller, group);
    const changes = [
      ...changesOfFields('group', mapping.groups.fields, valuesOf(group, mapping), null, caller.principal),
      ...outer.flatMap(({ group: { id } }) => changesOfValue(['group', 'parents'], id, null)),
    ];
    return { preview: await mirror.preview(caller, records, changes), deletedGroupId: group.id };
  }
}
