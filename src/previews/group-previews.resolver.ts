import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Args, Context, Resolver } from '@nestjs/graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
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
import { PreviewedMirror } from './previewed-mirror.js';
import { valuesOf } from './records.js';
import { mayCreateGroup, noUserContext, ROLE_FOR } from './rights.js';
import { validateNewGroup } from './values.js';

@Resolver()
export class GroupPreviewsResolver {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
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
    const { record, attributes } = buildNewGroup(wanted, creator, mapping);
    const { dn } = record;
    await mirror.reserve(id, dn);
    // The directory would assign the entryUUID.
    const entry = { kind: 'group', uuid: randomUUID(), id, dn, attributes } as const;
    const created = { ...entry, key: await mirror.change({ ...entry, key: null }) };
    const records = [record];
    if (parent !== null) {
      // The parent may name the DN already.
      const outer = await mirror.listOuterGroups(created);
      const before = outer.find(({ group }) => group.key === parent.key)?.namedAs ?? NOT_NAMED;
      const after = before | NAMED_AS_MEMBER;
      if (after !== before) records.push(await mirror.changeNaming(parent, created, before, after));
    }
    const role = creator && (await this.memberships.findRole(creator.key, created.key, transaction));
    const changes = [
      ...changesOfFields('group', fields, null, valuesOf(created, mapping), principal),
      ...changesOfValue(['group', 'parents'], null, parent?.id ?? null),
      ...changesOfRoles(null, role),
    ];
    const preview = await mirror.preview(records, changes);
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
    const mirror = new PreviewedMirror(context, this.config);
    const group = await mirror.getGroup(input.group, 'group');
    await mirror.requireRole(group, ROLE_FOR.updateGroup, 'change it');
    const preview = await mirror.changeFields(group, input, 'group');
    return { preview, group: await this.groups.get({ id: group.id }, 'group', mirror.transaction) };
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
    const mirror = new PreviewedMirror(context, this.config);
    const { mapping } = mirror;
    const group = await mirror.getGroup(input.group, 'group');
    await mirror.requireRole(group, ROLE_FOR.deleteGroup, 'delete it');
    // The members of the outer groups before and after would show them.
    if (group.membersVisibleTo > 0) throw hiddenMembers();
    const outer = await mirror.listOuterGroups(group);
    const records = buildGroupDeletion(group, outer, mapping);
    await mirror.removeGroup(group);
    const changes = [
      ...changesOfFields('group', mapping.groups.fields, valuesOf(group, mapping), null, mirror.principal),
      ...outer.flatMap(({ group: { id } }) => changesOfValue(['group', 'parents'], id, null)),
    ];
    return { preview: await mirror.preview(records, changes), deletedGroupId: group.id };
  }
}
