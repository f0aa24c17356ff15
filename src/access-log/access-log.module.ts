import { Global, Module } from '@nestjs/common';
import { AccessLog } from './access-log.js';

/** Who is shown what of people. Global: whatever shows something of people notes it. */
@Global()
@Module({ providers: [AccessLog], exports: [AccessLog] })
export class AccessLogModule {}
