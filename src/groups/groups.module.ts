import { Module } from '@nestjs/common';
import { GroupsResolver } from './groups.resolver.js';
import { GroupsService } from './groups.service.js';

@Module({
  providers: [GroupsResolver, GroupsService],
  exports: [GroupsService],
})
export class GroupsModule {}
