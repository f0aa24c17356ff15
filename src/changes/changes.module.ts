import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { ChangesResolver } from './changes.resolver.js';
import { ChangesService } from './changes.service.js';

@Module({
  imports: [UsersModule, GroupsModule],
  providers: [ChangesResolver, ChangesService],
})
export class ChangesModule {}
