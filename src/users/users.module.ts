import { Module } from '@nestjs/common';
import { CurrentTokenResolver } from './current-token.resolver.js';
import { UsersService } from './users.service.js';

@Module({
  providers: [CurrentTokenResolver, UsersService],
  exports: [UsersService],
})
export class UsersModule {}
