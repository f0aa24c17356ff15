import { Controller, Get, Res } from '@nestjs/common';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import { GRAPHQL_PATH } from '../graphql/http/request-context.js';
import { printSdl } from '../graphql/schema/schema.js';

/** Serves the schema as text, only where introspection is allowed, which says the same. */
@Public()
@Controller()
export class SchemaController {
  /** Printed on the first request, because most processes never receive one. */
  private text: string | null = null;

  constructor(private readonly host: GraphQLSchemaHost) {}

  @Get(`${GRAPHQL_PATH}/schema.graphql`)
  getSchema(@Res() reply: FastifyReply): void {
    this.text ??= printSdl(this.host.schema);
    const headers = { 'cache-control': 'public, max-age=300', 'content-type': 'text/plain; charset=utf-8' };
    void reply.headers(headers).send(this.text);
  }
}
