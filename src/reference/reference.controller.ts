import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { RejectionError } from '../http/rejection.js';
import { ReferenceFiles } from './reference-files.js';
import { sendFile } from './served-file.js';

/** Serves the pages about the schema and the errors. */
@Public()
@Controller('reference')
export class ReferenceController {
  constructor(private readonly files: ReferenceFiles) {}

  @Get()
  getFirstPage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send('', request, reply);
  }

  /** Serves the page of errors, which is always available. */
  @Get('errors')
  getErrors(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send('errors', request, reply);
  }

  @Get('*')
  async getPage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { '*': path = '' } = request.params as { '*'?: string };
    // Links of the first page are relative to its address.
    if (path === '') void reply.redirect('../reference', 308);
    else await this.send(path, request, reply);
  }

  private async send(path: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const file = await this.files.find(path);
    if (file === null) throw new RejectionError(404, 'NOT_FOUND', 'The reference has no page at this path');
    await sendFile(file, request, reply);
  }
}
