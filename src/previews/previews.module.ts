import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { MembershipsModule } from '../memberships/memberships.module.js';
import { UsersModule } from '../users/users.module.js';
import { PreviewsResolver } from './previews.resolver.js';

@Module({ imports: [UsersModule, GroupsModule, MembershipsModule], providers: [PreviewsResolver] })
export class PreviewsModule {}
