import { Module } from '@nestjs/common';
import { CurrentTokenResolver } from './current-token.resolver.js';
import { UsersResolver } from './users.resolver.js';
import { UsersService } from './users.service.js';

@Module({
  providers: [CurrentTokenResolver, UsersResolver, UsersService],
  exports: [UsersService],
})
export class UsersModule {}
