import { Module } from '@nestjs/common';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { GroupsModule } from '../groups/groups.module.js';
import { MediaModule } from '../media/media.module.js';
import { UsersModule } from '../users/users.module.js';
import { ScimController, ScimGuard } from './scim.controller.js';
import { ScimResources } from './scim-resources.js';

@Module({
  imports: [GraphQLModule, GroupsModule, MediaModule, UsersModule],
  controllers: [ScimController],
  providers: [ScimGuard, ScimResources],
})
export class ScimModule {}
