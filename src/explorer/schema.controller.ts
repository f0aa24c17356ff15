import { createHash } from 'node:crypto';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { GRAPHQL_PATH } from '../graphql/http/request-context.js';
import { printSdl } from '../graphql/schema/schema.js';
import { matchesEtag } from '../http/headers.js';

/** Serves the schema as text, only where introspection is allowed, which says the same. */
@Public()
@Controller()
export class SchemaController {
  /** Printed on the first request, because most processes never receive one. */
  private text: string | null = null;

  constructor(private readonly host: GraphQLSchemaHost) {}

  @Get(`${GRAPHQL_PATH}/schema.graphql`)
  getSchema(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.text ??= printSdl(this.host.schema);
    const etag = `"${createHash('sha256').update(this.text).digest('base64url')}"`;
    void reply.headers({
      'cache-control': 'public, max-age=300',
      'content-type': 'text/plain; charset=utf-8',
    });
    // The tag is weak, because a proxy may compress the text.
    void reply.header('etag', `W/${etag}`);
    if (matchesEtag(request.headers['if-none-match'], etag)) void reply.code(304).send();
    else void reply.send(this.text);
  }
}
