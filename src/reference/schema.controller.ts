import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { GRAPHQL_PATH } from '../graphql/http/request-state.js';
import { RejectionError } from '../http/rejection.js';
import { printSdl } from '../graphql/schema/access-directive.js';
import { sendFile, type ServedFile, servedFile } from './served-file.js';

/** Serves the schema as text where introspection is allowed; it contains the same information. */
@Public()
@Controller()
export class SchemaController {
  private file: ServedFile | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: GraphQLSchemaHost,
  ) {}

  /** @throws ServiceError NOT_FOUND where introspection is off */
  @Get(`${GRAPHQL_PATH}/schema.graphql`)
  async getSchema(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (!this.config.disclosure.introspection) throw notServed();
    // Printed on the first request, because most processes never receive one.
    this.file ??= servedFile(Buffer.from(printSdl(this.host.schema)), {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'public, max-age=300',
    });
    await sendFile(this.file, request, reply);
  }
}

function notServed(): RejectionError {
  return new RejectionError(
    404,
    'NOT_FOUND',
    'This service does not publish its schema: GRAPHQL_INTROSPECTION is false',
  );
}
