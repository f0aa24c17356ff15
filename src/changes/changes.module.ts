import { Module } from '@nestjs/common';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { ChangeFeed } from './change-feed.js';
import { ChangeLog } from './change-log.js';
import { ChangeStreams, ChangeStreamsController } from './change-streams.js';
import { ChangeConnectionResolver, ChangesResolver } from './changes.resolver.js';

@Module({
  imports: [GraphQLModule, UsersModule, GroupsModule],
  controllers: [ChangeStreamsController],
  providers: [ChangesResolver, ChangeConnectionResolver, ChangeLog, ChangeFeed, ChangeStreams],
  exports: [ChangeStreams],
})
export class ChangesModule {}
