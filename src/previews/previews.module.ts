import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { MembershipsModule } from '../memberships/memberships.module.js';
import { UsersModule } from '../users/users.module.js';
import { GroupPreviewsResolver } from './group-previews.resolver.js';
import { GroupPreviewsService } from './group-previews.service.js';
import { MembershipPreviewsResolver } from './membership-previews.resolver.js';
import { MembershipPreviewsService } from './membership-previews.service.js';
import { UserPreviewsResolver } from './user-previews.resolver.js';
import { UserPreviewsService } from './user-previews.service.js';

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
