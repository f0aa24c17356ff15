import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScopes } from '../../auth/access.js';
import { ReadOnlyGuard } from '../../http/rejection.js';
import { ChangeStreamsService } from './change-streams.service.js';

@RequireScopes('directory')
@Controller()
@UseGuards(ReadOnlyGuard)
export class ChangeStreamsController {
  constructor(private readonly streams: ChangeStreamsService) {}

  @All('changes/v1')
  stream(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.streams.open(request, reply);
  }
}
