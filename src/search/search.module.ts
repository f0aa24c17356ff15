import { Module } from '@nestjs/common';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { SearchResolver } from './search.resolver.js';
import { SearchService } from './search.service.js';

@Module({
  imports: [UsersModule, GroupsModule],
  providers: [SearchResolver, SearchService],
})
export class SearchModule {}
