import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { DirectoryListResolver } from './directory-list.resolver.js';
import { DirectoryListService } from './directory-list.service.js';
import { LookupResolver } from './lookup.resolver.js';
import { LookupService } from './lookup.service.js';
import {
  GroupMembersResolver,
  IsMemberResolver,
  MembershipRoleResolver,
  ProfileGroupsResolver,
  UserGroupsResolver,
} from './memberships.resolver.js';
import { MembershipsService } from './memberships.service.js';

@Module({
  imports: [UsersModule, GroupsModule],
  providers: [
    DirectoryListResolver,
    DirectoryListService,
    GroupMembersResolver,
    IsMemberResolver,
    LookupResolver,
    LookupService,
    MembershipRoleResolver,
    MembershipsService,
    ProfileGroupsResolver,
    UserGroupsResolver,
  ],
  exports: [MembershipsService],
})
export class MembershipsModule {}
