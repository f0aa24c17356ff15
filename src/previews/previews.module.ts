import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { MembershipsModule } from '../memberships/memberships.module.js';
import { UsersModule } from '../users/users.module.js';
import { GroupPreviewsResolver } from './group-previews.resolver.js';
import { MembershipPreviewsResolver } from './membership-previews.resolver.js';
import { UserPreviewsResolver } from './user-previews.resolver.js';

@Module({
  imports: [UsersModule, GroupsModule, MembershipsModule],
  providers: [GroupPreviewsResolver, MembershipPreviewsResolver, UserPreviewsResolver],
})
export class PreviewsModule {}
