import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import {
  GroupMembersResolver,
  IsMemberResolver,
  MembershipRoleResolver,
  ProfileGroupsResolver,
  UserGroupsResolver,
} from './memberships.resolver.js';
import { MembershipsService } from './memberships.service.js';

@Module({
  imports: [GroupsModule],
  providers: [
    GroupMembersResolver,
    IsMemberResolver,
    MembershipRoleResolver,
    MembershipsService,
    ProfileGroupsResolver,
    UserGroupsResolver,
  ],
  exports: [MembershipsService],
})
export class MembershipsModule {}
