import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessLogEntity } from './access-log.entity.js';
import { AccessLog } from './access-log.js';

/** Who reads which personal data. Global, because every module may read some. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AccessLogEntity])],
  providers: [AccessLog],
  exports: [AccessLog],
})
export class AccessLogModule {}
