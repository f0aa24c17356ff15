import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { MembershipsModule } from '../memberships/memberships.module.js';
import { UsersModule } from '../users/users.module.js';
import { GroupPreviewsResolver } from './groups/group-previews.resolver.js';
import { GroupPreviewsService } from './groups/group-previews.service.js';
import { MembershipPreviewsResolver } from './memberships/membership-previews.resolver.js';
import { MembershipPreviewsService } from './memberships/membership-previews.service.js';
import { UserPreviewsResolver } from './users/user-previews.resolver.js';
import { UserPreviewsService } from './users/user-previews.service.js';

@Module({
  imports: [UsersModule, GroupsModule, MembershipsModule],
  providers: [
    GroupPreviewsResolver,
    GroupPreviewsService,
    MembershipPreviewsResolver,
    MembershipPreviewsService,
    UserPreviewsResolver,
    UserPreviewsService,
  ],
})
export class PreviewsModule {}
