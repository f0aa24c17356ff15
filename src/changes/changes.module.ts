import { Module } from '@nestjs/common';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { ChangeConnectionResolver, ChangesResolver } from './changes.resolver.js';
import { ChangesService } from './changes.service.js';
import { ChangeLog } from './change-log.js';
import { ChangeFeed } from './stream/change-feed.js';
import { ChangeStreamsController } from './stream/change-streams.controller.js';
import { ChangeStreamsService } from './stream/change-streams.service.js';
import { StreamAdmission } from './stream/stream-admission.js';
import { StreamWatch } from './stream/stream-watch.js';

@Module({
  imports: [GraphQLModule, UsersModule, GroupsModule],
  controllers: [ChangeStreamsController],
  providers: [
    ChangesResolver,
    ChangeConnectionResolver,
    ChangesService,
    ChangeLog,
    ChangeFeed,
    ChangeStreamsService,
    StreamAdmission,
    StreamWatch,
  ],
  exports: [StreamAdmission],
})
export class ChangesModule {}
